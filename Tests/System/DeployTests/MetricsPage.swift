// SPDX-License-Identifier: Apache-2.0
import API
import Feedback
import GatewaySimulator
import Gateways
import Ingest
import LabCommand
import OperatorCommand
import Scheduler
import Sender
import ServiceKit
import Signer
import Telemetry
import WebhookDelivery

/// `docs/metrics.md`, made from the tables of metrics.
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
    "\n## \(title)\n\n"
      + "| metric | type | labels | series at most | meaning | panel | alert | log event |\n"
      + "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
      + metrics.map { row($0, uses) }.joined()
  }

  private static func row(_ metric: Metric, _ uses: MetricUses) -> String {
    let labels = metric.labels.map { "`\($0)`" }.joined(separator: ", ")
    let alerts = uses.alerts(metric).map { "[\($0)](runbook.md#\($0.lowercased()))" }
    let event = metric.event.map { "`\($0)`" } ?? ""
    return "| `\(metric.name)` | \(metric.kind.rawValue) | \(labels) | \(metric.bound ?? "1")"
      + " | \(metric.help) | \(uses.panels(metric).joined(separator: ", "))"
      + " | \(alerts.joined(separator: ", ")) | \(event) |\n"
  }

  private static let head = """
    # Status pages and metrics

    Every process serves HTTP on `--http` (by default `127.0.0.1` and a free port; the log line `status pages` names it,
    `martlet up` writes all of them to `addresses.json` under `metrics`). `--http off` serves none. The pages hold no
    secret, no payload and no device token, but they show the state of the system: do not expose the port. One thread of
    its own serves what the loops have recorded; slow or silent clients delay no one.

    | page | meaning |
    | --- | --- |
    | `/metrics` | Prometheus' text format 0.0.4: the metrics below. |
    | `/healthz` | 200 while every thread turns; 503, with the threads as JSON, when one has not for 30 s: restart the process. |
    | `/readyz` | 200 while the process is ready; 503 with the reasons as JSON, such as `has no partitions`, `no provider token for credential …`, `Kafka is unreachable`, `is stopping`. |
    | `/version` | Program and release as JSON. |
    | `/debug/state` | For people: why it is not ready, when each thread last turned, and of a sender every connection with its stream credit, every destination with its circuit breaker, and the oldest incomplete record of each partition with its age, attempts and last reason; at most 500 entries per list. |

    A process that systemd starts (`Type=notify`) reports that it runs, how it stands (`STATUS=`, shown by `systemctl
    status`), that it is stopping, and, as long as every thread turns, that it is alive (`WatchdogSec`).

    Ages are timestamps: `time() - martlet_sender_provider_token_issued_timestamp_seconds`. A sender updates gauges once per
    second, or every ten seconds if no client has read them for a minute. `martlet_sender_backlog_seconds` is the age of the
    oldest notification that a sender has taken and not finished; notifications that it has not taken yet are younger
    (`martlet_kafka_group_lag_records` counts them), or in a partition from which it takes nothing
    (`martlet_sender_partitions_paused`).

    **The number of series is bounded**, as the tables say. Labels never hold a device or an id. Apps and credentials
    have series of their own up to a number; all others share `other`. The apps of `martlet canary` are its settings. A
    sender has about 2,400 series at most, 2,000 of them by app, credential and certificate; a signer 230, `martlet canary`
    98 per canary, and every other process fewer than 120.

    Client certificates expire, and a metric has the time. Apple's `.p8` keys do not: a key is valid until it is revoked,
    and then APNs refuses it (`martlet_sender_credential_refusals_total`, MartletCredentialRefused). API keys do not
    expire either.

    Recording costs a few additions per notification; `benchmarks/guard` counts its instructions.

    The last columns of each table name the panel of the dashboard (`deploy/grafana/martlet.json`) that shows the metric,
    the alert that uses it, and the log event ([logs.md](logs.md)) that has the details.

    This page is made from the tables in the programs by `MARTLET_WRITE_DOCS=1 swift test --filter MetricsPageTests`;
    `scripts/test` fails when it is out of date.

    """
}
