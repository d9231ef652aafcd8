// SPDX-License-Identifier: Apache-2.0
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct StatusTests {
  func reading(
    _ name: String, _ text: String, _ state: ProcessReading.State = .ready
  ) throws -> ProcessReading {
    ProcessReading(process: name, state: state, page: try MetricPage(text))
  }

  private func sender(_ delivered: Int, cpu: Double, slow: Int = 0) -> String {
    """
    process_cpu_seconds_total \(cpu)
    process_resident_memory_bytes 52428800
    martlet_sender_notifications_total{outcome="delivered",lane="bulk"} \(delivered)
    martlet_sender_notifications_total{outcome="rejected",lane="bulk"} 0
    martlet_sender_notifications_in_flight 7
    martlet_sender_notifications_waiting 2
    martlet_sender_backlog_seconds{lane="bulk"} \(slow)
    martlet_sender_connections{state="ready"} 2
    martlet_sender_destinations{state="working"} 1
    martlet_sender_delivery_seconds_bucket{lane="bulk",le="0.1"} \(delivered)
    martlet_sender_delivery_seconds_bucket{lane="bulk",le="+Inf"} \(delivered)
    martlet_sender_provider_token_issued_timestamp_seconds{credential="a"} 400
    """
  }

  @Test func `rates between two readings, sums and extremes over the processes`() throws {
    let before = [
      try reading("sender-1", sender(100, cpu: 1)), try reading("sender-2", sender(900, cpu: 1)),
    ]
    // The second one was restarted.
    let now = [
      try reading("sender-1", sender(300, cpu: 1.5, slow: 3)),
      try reading("sender-2", sender(50, cpu: 0.2)),
      try reading("ingest", "martlet_ingest_requests_total 10"),
    ]
    let status = PipelineStatus(now, before: before, seconds: 2, wall: 1_000)
    #expect(status.outcomesPerSecond == [.init(name: "delivered", value: 125)])
    #expect(status.outcomes == [.init(name: "delivered", value: 350)])
    #expect(status.inFlight == 14 && status.waiting == 4)
    #expect(status.backlogSeconds == [.init(name: "bulk", value: 3)])
    #expect(status.processes.map(\.core) == [0.25, 0.1, nil])
    #expect(status.oldestToken == 600)
    #expect(status.nextCertificate == nil)
    #expect(status.requestsPerSecond == 0, "not known before")
    #expect(status.delivery.map { $0.median < 0.1 && $0.p99 < 0.1 } == true)
    #expect(status.isReady)
    #expect(StatusText.warnings(status).isEmpty)
    let lines = StatusText.lines(status)
    #expect(lines.contains("outcomes     delivered 125/s"))
    #expect(lines.contains("in flight    14, of which 4 wait"))
    #expect(lines.contains { $0.hasPrefix("sender-1  ready      25 %   50 MiB") })
  }

  @Test func `what ingest has not finished is shown, with the age of the oldest`() throws {
    let page = """
      martlet_ingest_requests_total 10
      martlet_ingest_requests_in_flight 4096
      martlet_ingest_backlog_seconds 22.7
      martlet_kafka_group_lag_records{group="push.ingest",topic="push.requests"} 5096
      """
    let other =
      #"martlet_kafka_group_lag_records{group="push.sender",topic="push.notifications"} 9"#
    let now = [try reading("ingest", page), try reading("sender", other)]
    let status = PipelineStatus(now, before: [], seconds: 1, wall: 0)
    #expect(status.openRequests == 5_096 && status.oldestRequest == 22.7)
    #expect(
      StatusText.lines(status).contains(
        "requests     0/s taken by ingest, 5096 not finished, the oldest taken 23 s old"))
    #expect(
      StatusText.json(status).contains(#""requests_open":5096,"requests_oldest_seconds":22.7"#))
  }

  @Test func `a status fits its terminal, and has colours only where they are wanted`() throws {
    let unread = (0..<30).map { topic in
      #"martlet_kafka_group_lag_records{group="g",topic="push.topic.\#(topic)"} 1234"#
    }
    let now =
      try (1...6).map { try reading("sender-\($0)", sender(100, cpu: 1, slow: 600)) }
      + [try reading("ingest", unread.joined(separator: "\n"))]
    let status = PipelineStatus(now, before: [], seconds: 1, wall: 1_000)
    let plain = StatusScreen(rows: 24, columns: 80, isColoured: false).text(status)
    let lines = plain.split(separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count <= 24 && lines.allSatisfy { $0.count <= 80 }, "\(plain)")
    #expect(plain.hasPrefix("state        degraded\n! the oldest unfinished notification"))
    #expect(!plain.contains("\u{1B}"))
    let coloured = StatusScreen(rows: 24, columns: 80, isColoured: true).text(status)
    #expect(coloured.hasPrefix("\u{1B}[1;33mstate        degraded\u{1B}[0m\n\u{1B}[33m! the"))
    let small = StatusScreen(rows: 10, columns: 80, isColoured: false).text(status)
    #expect(small.split(separator: "\n", omittingEmptySubsequences: false).count == 10)
    #expect(small.hasSuffix(" more lines; martlet status | less\n"))
  }

  @Test func `what was delivered before says nothing of now`() throws {
    let page = """
      martlet_sender_delivery_seconds_bucket{lane="bulk",le="0.1"} 10
      martlet_sender_delivery_seconds_bucket{lane="bulk",le="300"} 1000
      martlet_sender_delivery_seconds_bucket{lane="bulk",le="+Inf"} 1000
      """
    let old = try reading("sender", page)
    let quiet = PipelineStatus([old], before: [old], seconds: 1, wall: 0)
    #expect(quiet.delivery == nil && (quiet.deliverySinceStart?.p99 ?? 0) > 200)
    #expect(
      StatusText.lines(quiet).contains {
        $0.hasPrefix("delivery     none just now; since the processes started p50 ")
      })
    let lately = try reading(
      "sender", page.replacing(" 10\n", with: " 0\n").replacing("1000", with: "990"))
    let status = PipelineStatus([old], before: [old], lately: [lately], seconds: 1, wall: 0)
    #expect((status.delivery?.p99 ?? 1) <= 0.1, "of the last minute")
    let json = try JSONDocument(StatusText.json(quiet)).root
    #expect(json["delivery_seconds"]?.isNull == true)
    #expect(json["delivery_seconds_since_start"]?["p99"] != nil)
  }

  @Test func `the lanes have their order, and refused requests and invalid tokens a figure`() throws
  {
    let sender = """
      martlet_sender_backlog_seconds{lane="urgent"} 0
      martlet_sender_backlog_seconds{lane="bulk"} 0
      martlet_sender_backlog_seconds{lane="retries"} 0
      """
    let ingest = "martlet_ingest_requests_rejected_total 12"
    let feedback = #"martlet_feedback_devices{state="invalid"} 7"#
    let now = try [reading("s", sender), reading("i", ingest), reading("f", feedback)]
    let before = [try reading("i", "martlet_ingest_requests_rejected_total 2")]
    let status = PipelineStatus(now, before: before, seconds: 2, wall: 0)
    #expect(status.lanes == ["urgent", "bulk"] && status.refusedPerSecond == 5)
    let json = try JSONDocument(StatusText.json(status)).root
    #expect(json["lanes"]?.array?.compactMap(\.string) == ["urgent", "bulk"])
    #expect(json["invalid_tokens"] == 7 && json["refused_per_second"] == 5)
  }

  @Test
  func `a history has the last hour, one mean for ten seconds, and holes where nothing was read`() {
    var history = StatusHistory()
    for second in 0..<20 { history.note(at: 1_000 + Double(second), delivered: 4, failed: 1) }
    history.note(at: 1_005, delivered: .nan, failed: 0)
    history.note(at: 1_045, delivered: 8, failed: 0)
    #expect(history.json["delivered"] == [4, 4, .null, .null, 8])
    #expect(history.json["failed"] == [1, 1, .null, .null, 0])
    history.note(at: 1_045 + 3_600, delivered: 1, failed: 0)
    #expect(history.json["delivered"] == [1], "what is older than an hour is gone")
    history.note(at: 2_000, delivered: 3, failed: 0)
    #expect(history.json["delivered"] == [3], "the clock was set back")
    for step in 0..<1_000 { history.note(at: 5_000 + 10 * Double(step), delivered: 1, failed: 0) }
    #expect(history.json["delivered"]?.array?.count == StatusHistory.most)
  }

  @Test func `requests that wait for their time are counted, and a late one is named`() throws {
    func status(_ late: String) throws -> PipelineStatus {
      let page = "martlet_scheduler_entries 1200\nmartlet_scheduler_late_seconds \(late)"
      return PipelineStatus([try reading("scheduler", page)], before: [], seconds: 1, wall: 1_000)
    }
    #expect(StatusText.lines(try status("0.4")).contains("scheduled    1200"))
    #expect(StatusText.warnings(try status("60")).isEmpty)
    #expect(StatusText.lines(try status("90")).contains("scheduled    1200, late by 90 s"))
    #expect(StatusText.warnings(try status("90")) == ["! a scheduled request is late by 90 s"])
    let json = try JSONDocument(StatusText.json(try status("1.5"))).root
    #expect(json["scheduled"]?.int == 1_200 && json["schedule_late_seconds"] == .double(1.5))
    let without = PipelineStatus([], before: [], seconds: 1, wall: 0)
    #expect(without.scheduled == nil)
  }

  @Test
  func `campaigns are shown with how far and how fast they are, and why one has stopped`() throws {
    let page = """
      martlet_scheduler_campaign_state{campaign="sale",state="running",reason=""} 1
      martlet_scheduler_campaign_audience{campaign="sale"} 500
      martlet_scheduler_campaign_addressed{campaign="sale"} 120
      martlet_scheduler_campaign_outcomes{campaign="sale",outcome="deduplicated"} 50
      martlet_scheduler_campaign_outcomes{campaign="sale",outcome="delivered"} 99
      martlet_scheduler_campaign_outcomes{campaign="sale",outcome="rejected"} 1
      martlet_scheduler_campaign_rate{campaign="sale",of="addressed"} 12.5
      martlet_scheduler_campaign_rate{campaign="sale",of="outcomes"} 10
      martlet_scheduler_campaign_left_seconds{campaign="sale"} 40
      martlet_scheduler_campaign_state{campaign="bad",state="stopped",reason="3 of 10 pushes were rejected"} 1
      martlet_scheduler_campaign_addressed{campaign="bad"} 10
      martlet_scheduler_campaigns_unlisted 2
      """
    let other = #"martlet_scheduler_campaign_state{campaign="sale",state="running",reason=""} 1"#
    let now = [try reading("scheduler-1", page), try reading("scheduler-2", other)]
    let status = PipelineStatus(now, before: [], seconds: 1, wall: 1_000)
    let lines = StatusText.lines(status).map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines.contains(
        "campaigns sale running 120 of 500 (24 %) 10/s, 40 s left deduplicated 50, delivered 99, rejected 1"
      ))
    #expect(lines.contains("bad stopped 10 addressed 3 of 10 pushes were rejected"))
    #expect(lines.contains("2 more; martlet campaign list has all"))
    // It has done what its stop says: nothing of the pipeline needs a look.
    #expect(StatusText.warnings(status).isEmpty && status.headline == .ready)
    let json = try JSONDocument(StatusText.json(status)).root
    let sale = try #require(json["campaigns"]?.array?.first)
    #expect(sale["ended"] == 100 && sale["rejected_percent"] == 1 && sale["per_second"] == 10)
    #expect(sale["seconds_left"] == 40 && sale["total"] == 500 && json["campaigns_unlisted"] == 2)
    #expect(
      json["campaigns"]?.array?.count == 2
        && json["campaigns"]?.array?.last?["total"]?.isNull == true)
  }

  @Test func `campaigns of one name say whose they are`() throws {
    func series(_ name: String, _ app: String, _ environment: String) -> String {
      #"martlet_scheduler_campaign_state{campaign="\#(name)",app="\#(app)","#
        + #"environment="\#(environment)",state="done",reason=""} 1"#
    }
    let page = [
      series("sale", "a.b", "production"), series("sale", "a.c", "production"),
      series("sale", "a.b", "sandbox"), series("news", "a.b", "production"),
    ]
    let status = PipelineStatus(
      [try reading("scheduler", page.joined(separator: "\n"))], before: [], seconds: 1, wall: 0)
    let lines = StatusText.lines(status).map { $0.split(separator: " ").joined(separator: " ") }
    for line in [
      "campaigns sale (a.b production) done 0 addressed", "sale (a.c production) done 0 addressed",
      "sale (a.b sandbox) done 0 addressed", "news done 0 addressed",
    ] { #expect(lines.contains(line), "\(lines)") }
  }

  @Test(arguments: [
    "0", "9007199254740993", "1e300", "NaN", "+Inf", "-Inf", "-1", "18446744073709551616",
  ])
  func `no figure of a page, however odd, makes a status that the page cannot show`(_ value: String)
    throws
  {
    let names = [
      "process_cpu_seconds_total", "process_resident_memory_bytes", "martlet_ingest_requests_total",
      "martlet_ingest_requests_in_flight", "martlet_ingest_backlog_seconds",
      #"martlet_ingest_tokens_total{outcome="accepted"}"#,
      #"martlet_sender_notifications_total{outcome="delivered",lane="bulk"}"#,
      "martlet_sender_notifications_waiting", #"martlet_sender_backlog_seconds{lane="bulk"}"#,
      #"martlet_kafka_group_lag_records{group="g",topic="t"}"#,
      #"martlet_sender_destinations{state="gateway"}"#,
      #"martlet_sender_blocked_notifications{credential="T/K",environment="production",state="gateway"}"#,
      #"martlet_sender_destination_blocked_seconds{state="gateway"}"#,
      #"martlet_sender_delivery_seconds_bucket{lane="bulk",le="0.1"}"#,
      #"martlet_sender_delivery_seconds_bucket{lane="bulk",le="+Inf"}"#,
      #"martlet_sender_request_seconds_bucket{environment="production",le="+Inf"}"#,
      #"martlet_sender_provider_token_issued_timestamp_seconds{credential="a"}"#,
      #"martlet_sender_certificate_not_after_timestamp_seconds{certificate="a"}"#,
      "martlet_sender_credentials_without_token", "martlet_kafka_records_lost_total",
      #"martlet_canary_success{app="a",environment="p",target="t"}"#,
      #"martlet_canary_last_success_timestamp_seconds{app="a",environment="p",target="t"}"#,
      #"martlet_sender_paused{kind="lane"}"#, "martlet_sender_foreign_answers_total",
      #"martlet_webhooks_oldest_event_seconds{endpoint="a"}"#, "martlet_scheduler_entries",
      "martlet_scheduler_late_seconds",
      #"martlet_scheduler_campaign_state{campaign="c",state="running",reason=""}"#,
      #"martlet_scheduler_campaign_audience{campaign="c"}"#,
      #"martlet_scheduler_campaign_addressed{campaign="c"}"#,
      #"martlet_scheduler_campaign_outcomes{campaign="c",outcome="rejected"}"#,
      #"martlet_scheduler_campaign_rate{campaign="c",of="outcomes"}"#,
      #"martlet_scheduler_campaign_left_seconds{campaign="c"}"#,
      "martlet_scheduler_campaigns_unlisted",
    ]
    let now = try reading("sender", names.map { "\($0) \(value)" }.joined(separator: "\n"))
    let before = try reading("sender", names.map { "\($0) 1" }.joined(separator: "\n"))
    for earlier in [[], [before], [now]] {
      let status = PipelineStatus([now], before: earlier, seconds: 0, wall: 1_764_093_207)
      #expect(!StatusText.lines(status).isEmpty)
      let json = try JSONDocument(StatusText.json(status)).root
      #expect(json["state"]?.string != nil && json["warnings"]?.array != nil)
    }
  }

  @Test func `a status that is interrupted does not end like that of a ready pipeline`() throws {
    func run(_ flags: [String]) throws {
      let context = try StatusCommand.context(["127.0.0.1:1"] + flags)
      context.signals.requestStop()
      try StatusCommand.run(StatusCommand.settings(context.values), context)
    }
    #expect(throws: ServiceFailure.self) { try run([]) }
    try run(["--watch"])
  }

  @Test(arguments: [
    (0, "0 s"), (0.0123, "12 ms"), (1, "1 s"), (3.52, "3.5 s"), (119.4, "119 s"), (600, "10 min"),
    (86_400, "24 h"), (7_776_000, "90 d"),
  ])
  func `times in words`(seconds: Double, text: String) {
    #expect(StatusText.duration(seconds) == text)
  }
}
