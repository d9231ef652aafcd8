// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// Each way in which pushes stop reaching devices: what fires, after how long, and whether it wakes somebody.
/// docs/runbook.md has the same table.
@Suite struct StoppedPushesTests {
  private enum Severity: String { case page, ticket }

  /// A series of a pipeline that worked for `before` minutes: what it was then, and what it is from then on.
  private struct Series {
    let name: String
    let before: String
    let after: String

    /// A counter that grows by so many per minute, and after it by so many.
    static func counter(_ name: String, _ before: Int, _ after: Int) -> Series {
      Series(
        name: name, before: "0+\(before)x\(StoppedPushesTests.before)",
        after: "\(before * StoppedPushesTests.before + after)+\(after)x\(StoppedPushesTests.after)")
    }

    static func gauge(_ name: String, _ before: Int, _ after: Int) -> Series {
      Series(
        name: name, before: "\(before)x\(StoppedPushesTests.before)",
        after: "\(after)x\(StoppedPushesTests.after)")
    }

    /// Nobody has it any more.
    static func gone(_ name: String) -> Series {
      Series(
        name: name, before: "1x\(StoppedPushesTests.before)",
        after: "_x\(StoppedPushesTests.after)")
    }
  }

  private struct Way {
    let name: String
    let alert: String
    let severity: Severity
    /// Within so many minutes it fires.
    let minutes: Int
    let series: [Series]

    init(
      _ name: String, _ alert: String, _ severity: Severity, within minutes: Int, _ series: [Series]
    ) {
      (self.name, self.alert, self.severity) = (name, alert, severity)
      (self.minutes, self.series) = (minutes, series)
    }
  }

  private static let before = 120
  private static let after = 90

  private static func outcome(_ name: String, _ before: Int, _ after: Int) -> Series {
    .counter(#"martlet_sender_notifications_total{outcome="\#(name)",lane="l"}"#, before, after)
  }

  private static func ended(as outcome: String) -> [Series] {
    [Self.outcome("delivered", 60, 0), Self.outcome(outcome, 0, 60)]
  }

  /// Counters have all of their labels, whatever happens, except where it says so.
  private static let ways: [Way] =
    [
      Way(
        "every push is suppressed by ingest", "MartletNothingDelivered", .page, within: 10,
        [
          outcome("delivered", 60, 0),
          .counter(#"martlet_ingest_tokens_total{outcome="suppressed"}"#, 0, 60),
        ]),
      Way(
        "every push is suppressed by senders", "MartletNothingDelivered", .page, within: 10,
        ended(as: "suppressed")),
      Way(
        "APNs rejects every push", "MartletNothingDelivered", .page, within: 10,
        ended(as: "rejected")),
      Way(
        "every push has an id that was taken", "MartletNothingDelivered", .page, within: 10,
        ended(as: "deduplicated")),
      Way(
        "a newer push supersedes every one", "MartletNothingDelivered", .page, within: 10,
        ended(as: "superseded")),
      Way("every push expires", "MartletNothingDelivered", .page, within: 10, ended(as: "expired")),
      Way(
        "ingest refuses every request", "MartletNothingDelivered", .page, within: 10,
        [outcome("delivered", 60, 0), .counter("martlet_ingest_requests_rejected_total", 0, 60)]),
      Way(
        "no user has a device", "MartletNothingDelivered", .page, within: 10,
        [
          outcome("delivered", 60, 0),
          .counter(#"martlet_scheduler_people_requests_total{result="no_device"}"#, 0, 60),
        ]),
      Way(
        "every push of one app is rejected", "MartletAppNothingDelivered", .ticket, within: 62,
        [
          .counter(#"martlet_sender_app_notifications_total{app="a",outcome="delivered"}"#, 60, 0),
          .counter(#"martlet_sender_app_notifications_total{app="a",outcome="rejected"}"#, 0, 600),
          .counter(#"martlet_sender_app_notifications_total{app="b",outcome="delivered"}"#, 60, 60),
        ]),
      Way(
        "a seventh of the pushes or more expires, or becomes a dead letter", "MartletFailureRatio",
        .page,
        within: 15, [outcome("delivered", 60, 60), outcome("dead_lettered", 0, 60)]),
      Way(
        "no request comes any more", "MartletTrafficGone", .page, within: 22,
        [.counter("martlet_ingest_requests_total", 60, 0)]),
      Way(
        "requests come, and none gets an outcome", "MartletSilence", .page, within: 5,
        [
          .counter(#"martlet_ingest_tokens_total{outcome="accepted"}"#, 60, 60),
          outcome("delivered", 60, 0),
        ]),
      Way(
        "requests wait before ingest", "MartletRequestsBehind", .page, within: 3,
        [.gauge("martlet_ingest_backlog_seconds", 0, 90)]),
      Way(
        "an open transaction holds requests back", "MartletHeldByTransaction", .page, within: 2,
        [.gauge(#"martlet_kafka_group_held_by_transaction_seconds{group="g"}"#, 0, 40)]),
      Way(
        "Kafka acknowledges no record", "MartletStoreDown", .page, within: 2,
        [.gauge(#"martlet_not_ready{condition="writes",instance="a"}"#, 0, 1)]),
      Way(
        "Kafka is away", "MartletStoreDown", .page, within: 2,
        [.gauge(#"martlet_not_ready{condition="kafka",instance="a"}"#, 0, 1)]),
      Way(
        "APNs refuses a credential, or no gateway answers", "MartletDestinationFailing", .page,
        within: 2,
        [.gauge(#"martlet_sender_destination_blocked_seconds{state="credential"}"#, 0, 60)]),
      Way(
        "APNs refuses an app", "MartletAppRefused", .page, within: 2,
        [
          .gauge(
            #"martlet_sender_refused_seconds{app="a",credential="c",environment="e",reason="r"}"#,
            0, 60)
        ]),
      Way(
        "partitions have no reader", "MartletPartitionsUnowned", .page, within: 6,
        [
          .gauge(#"martlet_kafka_group_partitions_expected{group="martlet-ingest"}"#, 12, 12),
          .gauge(#"martlet_kafka_group_partitions_assigned{group="martlet-ingest"}"#, 12, 6),
        ]),
      Way(
        "scheduled requests stand", "MartletScheduleLate", .page, within: 3,
        [.gauge("martlet_scheduler_late_seconds", 0, 60)]),
      Way(
        "requests to users stand: the database does not answer", "MartletPeopleWaiting", .page,
        within: 3,
        [
          .gauge("martlet_scheduler_people_failing", 0, 1),
          .gauge("martlet_scheduler_people_waiting", 0, 9),
        ]),
      Way(
        "requests to users stand: they are not looked up", "MartletPeopleWaiting", .page,
        within: 15,
        [
          .gauge("martlet_scheduler_people_waiting", 0, 9),
          .counter(#"martlet_scheduler_people_requests_total{result="addressed"}"#, 60, 0),
        ]),
    ] + gone

  /// Their pages are not asked for any more: a scrape of what discovery does not name cannot fail.
  private static let gone =
    ["api", "ingest", "scheduler", "sender", "signer"].map { program in
      Way(
        "martlet-\(program) vanishes from service discovery", "MartletProgramGone", .page,
        within: 11, [.gone(#"martlet_build_info{program="martlet-\#(program)"}"#)])
    }
    + ["feedback", "webhooks"].map { program in
      Way(
        "martlet-\(program) vanishes from service discovery", "MartletSideProgramGone", .ticket,
        within: 11, [.gone(#"martlet_build_info{program="martlet-\#(program)"}"#)])
    }

  @Test func `an alert fires in time for each way, and not before`() throws {
    var lines = [
      "rule_files: [\(DeployedFiles.folder)/prometheus/rules.yaml]", "evaluation_interval: 30s",
      "tests:",
    ]
    for way in Self.ways {
      let name = way.name.replacing("'", with: "''")
      lines += ["  - name: '\(name)'", "    interval: 1m", "    input_series:"]
      for series in way.series {
        lines.append("      - series: '\(series.name)'")
        lines.append("        values: '\(series.before) \(series.after)'")
      }
      lines.append("    promql_expr_test:")
      for (minute, count) in [(Self.before, 0), (Self.before + way.minutes, 1)] {
        let expression =
          #"count(count by (alertname) (ALERTS{alertname="\#(way.alert)",alertstate="firing","#
          + #"severity="\#(way.severity.rawValue)"})) or vector(0)"#
        lines += [
          "      - expr: '\(expression)'", "        eval_time: \(minute)m",
          "        exp_samples: [{labels: '{}', value: \(count)}]",
        ]
      }
    }
    let folder = TemporaryFolder()
    let file = folder.file("ways.yaml")
    try File.write(file, Array((lines.joined(separator: "\n") + "\n").utf8))
    let run = try BuiltProgram.run(
      try SystemProgram.promtool(), ["test", "rules", file], in: folder,
      withinMilliseconds: 600_000)
    #expect(run.status == 0, "\(run.output)")
  }

  @Test func `the runbook has the same table`() throws {
    let page = try File.text("\(DeployedFiles.folder)/../docs/runbook.md")
    let start = try #require(page.firstRange(of: "## How pushes stop, and what fires\n"))
    let rows = page[start.upperBound...].split(separator: "\n").prefix { !$0.hasPrefix("## ") }
      .filter { $0.hasPrefix("| ") }.dropFirst(2)
    let table = Self.ways.map { way in
      "| \(way.name) | \(way.alert) | \(way.severity) | \(way.minutes) min |"
    }
    #expect(rows.map(String.init) == table, "\(table.joined(separator: "\n"))")
  }
}
