// SPDX-License-Identifier: Apache-2.0
import API
import Feedback
import GatewaySimulator
import Ingest
import LabCommand
import OperatorCommand
import Scheduler
import Sender
import SenderDecisions
import ServiceKit
import Signer
import Telemetry
import WebhookDelivery

/// `docs/reference/metrics.md`, made from the tables of metrics.
enum MetricsPage {
  static let tables: [(title: String, metrics: [Metric])] = [
    ("Every program", ProgramMetrics.all),
    ("Kafka, in every program that uses it", KafkaMetrics.all),
    ("`martlet-ingest`", IngestMetrics.all), ("`martlet-signer`", SignerMetrics.all),
    ("`martlet-sender`", SenderCounter.all + SenderMetrics.all),
    ("`martlet-feedback`", FeedbackMetrics.all),
    ("`apns-simulator`", SimulatorMetrics.all), ("`martlet broker`", BrokerMetrics.all),
    ("`martlet canary`", CanaryMetrics.all), ("`martlet-api`", APIMetrics.all),
    ("`martlet-webhooks`", WebhookMetrics.all), ("`martlet-scheduler`", SchedulerMetrics.all),
  ]

  /// The names of metrics in an expression that no program declares.
  static func unknownMetrics(in text: String) -> [String] {
    let known = Set(
      tables.flatMap(\.metrics).flatMap { metric in
        metric.kind == .histogram
          ? ["_bucket", "_sum", "_count"].map { metric.name + $0 } : [metric.name]
      })
    return text.matches(of: #/\b(?:martlet|process)_[a-z_]+/#).map { String($0.output) }
      .filter { !known.contains($0) }
  }

  static func text(_ uses: MetricUses) -> String {
    head + tables.map { section($0.title, $0.metrics, uses) }.joined()
  }

  private static func section(_ title: String, _ metrics: [Metric], _ uses: MetricUses) -> String {
    "\n## \(title)\n\n| metric | labels | meaning |\n| --- | --- | --- |\n"
      + metrics.map { row($0, uses) }.joined()
  }

  private static func row(_ metric: Metric, _ uses: MetricUses) -> String {
    let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
    let bound = metric.bound.map { " (\($0))" } ?? ""
    let alerts = uses.alerts(metric)
    let notes = [
      metric.kind == .histogram ? " A histogram." : "",
      alerts.isEmpty ? "" : " Alert: \(alerts.joined(separator: ", ")).",
      metric.event.map { " Log: `\($0.prefix { !",;:".contains($0) })`." } ?? "",
    ]
    return "| `\(metric.name)` | \(labels)\(bound) | \(metric.help)\(notes.joined()) |\n"
  }

  private static let head = """
    # Status pages and metrics

    Every process serves HTTP on `--http` (by default `127.0.0.1` and a free port, which the log line `status pages` names;
    `martlet up` writes all of them to `addresses.json`); `--http off` serves none. The pages hold no secret, no payload and
    no device token, but they show the state of the system: do not expose the port.

    | page | meaning |
    | --- | --- |
    | `/metrics` | Prometheus' text format 0.0.4: the metrics below |
    | `/healthz` | 200 while every thread turns; 503, with the threads as JSON, when one has not for 60 s: restart the process |
    | `/readyz` | 200 while the process is ready; 503 with the reasons as JSON, such as `has no partitions`, `no provider token for credential …`, `Kafka is unreachable`, `is stopping` |
    | `/version` | program and release as JSON |
    | `/debug/state` | for people: why it is not ready, when each thread last turned, and of a sender every connection with its stream credit, every destination with its circuit breaker, and the oldest incomplete record of each partition with its age, attempts and last reason; at most 500 entries per list |

    To systemd a process reports how it stands (`systemctl status`), and, while every thread turns, that it is alive.

    A sender updates gauges once per second, or every ten seconds if no client has read them for a minute.
    `martlet_sender_backlog_seconds` is the age of the oldest notification that a sender has taken and not finished; those
    that it has not taken are younger (`martlet_kafka_group_lag_records`), or in a partition from which it takes nothing
    (`martlet_sender_partitions_paused`).

    **The number of series is bounded.** Labels never hold a device or an id; apps and credentials have series of their own
    up to a number, all others share `other`. Without those by app, credential, pace, campaign, key, endpoint and canary,
    whose bounds are below, a sender has some 450, every other process fewer than 120.

    Names that end in `_total` are counters, those that say so histograms, all others gauges. In brackets: the most series
    of a metric with labels. *Alert*: its rules in `deploy/prometheus` ([runbook.md](../runbook.md)); *Log*: how the
    event with the details begins ([logs.md](logs.md)). The dashboard is `deploy/grafana/martlet.json`.

    `scripts/docs` writes this page from the tables in the programs.

    """
}
