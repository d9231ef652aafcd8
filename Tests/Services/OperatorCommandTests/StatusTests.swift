// SPDX-License-Identifier: Apache-2.0
import JSON
import Telemetry
import Testing

@testable import OperatorCommand

@Suite struct StatusTests {
  private func reading(
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

  @Test func `every problem is shown with its cause`() throws {
    let blocked = """
      martlet_sender_destinations{state="gateway"} 2
      martlet_sender_credentials_without_token 1
      martlet_kafka_records_lost_total 5
      martlet_kafka_producers_refused 2
      martlet_feedback_database_failing 1
      martlet_sender_certificate_not_after_timestamp_seconds{certificate="ab"} 864000
      """
    let now = [
      try reading("sender", blocked, .notReady(["has no partitions", "line\u{1B}[2Jbreak"])),
      ProcessReading(process: "ingest", state: .unreachable("refused"), page: nil),
    ]
    let status = PipelineStatus(now, before: [], seconds: 1, wall: 0)
    #expect(!status.isReady)
    #expect(
      StatusText.warnings(status) == [
        "! sender: has no partitions", "! sender: line\u{FFFD}[2Jbreak", "! ingest: refused",
        "! 2 destinations are blocked: gateway",
        "! 1 credentials have no provider token that may be sent",
        "! Kafka refuses records of 2 producers; the log names topic and remedy",
        "! the database of device tokens takes no transaction; feedback's log says why",
        "! a client certificate expires in 10 d; the sender's log names it",
        "! 5 records were removed by retention before they were read",
      ])
    let json = try JSONDocument(StatusText.json(status)).root
    #expect(json["ready"]?.bool == false)
    #expect(json["processes"]?.array?.map { $0["state"]?.string } == ["not_ready", "unreachable"])
    #expect(json["delivery_seconds"]?.isNull == true)
    #expect(json["warnings"]?.array?.count == 9)
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

  private func headline(_ text: String, _ others: [ProcessReading] = []) throws -> Headline {
    PipelineStatus(
      [try reading("sender", text)] + others, before: [], seconds: 1, wall: 0
    ).headline
  }

  @Test func `ready, degraded or blocked: what works, what needs a look, what nobody gets past`()
    throws
  {
    let works = #"martlet_sender_destinations{state="working"} 1"# + "\n"
    #expect(try headline(works) == .ready)
    #expect(try headline(works + #"martlet_sender_destinations{state="app"} 1"#) == .degraded)
    let refused = #"martlet_sender_destinations{state="app"} 2"#
    #expect(try headline(refused) == .degraded, "the other apps are served")
    #expect(try headline(#"martlet_sender_destinations{state="credential"} 2"#) == .blocked)
    #expect(try headline(works + #"martlet_sender_paused{kind="lane"} 1"#) == .degraded)
    #expect(try headline(works + "martlet_sender_paces 3") == .ready, "a setting is not a fault")
    #expect(try headline(#"martlet_sender_destinations{state="gateway"} 1"#) == .blocked)
    #expect(try headline(works + "martlet_kafka_producers_refused 1") == .blocked)
    func gone(_ name: String) -> ProcessReading {
      ProcessReading(process: name, state: .unreachable("refused"), page: nil)
    }
    #expect(try headline(works, [gone("signer")]) == .degraded)
    #expect(try headline(works, [gone("sender-2")]) == .degraded, "the other one sends")
    #expect(try headline(works, [gone("martlet-ingest 10.0.0.5:9470")]) == .blocked)
    #expect(try headline(works, [gone("10.0.0.5:9470")]) == .degraded, "nobody knows what it is")
    #expect(PipelineStatus([], before: [], seconds: 1, wall: 0).headline == .blocked)
    #expect([Headline.ready, .blocked, .degraded].map(\.exitStatus) == [0, 1, 3])
  }

  @Test func `what is idle does not count as working while another destination is blocked`() throws
  {
    func status(blocked: Int, accepted: String) throws -> PipelineStatus {
      let page = """
        martlet_sender_destinations{state="working"} 1
        martlet_sender_destinations{state="credential"} 1
        martlet_sender_destination_blocked_seconds{state="credential"} \(blocked)
        \(accepted)
        """
      return PipelineStatus([try reading("sender", page)], before: [], seconds: 1, wall: 0)
    }
    let silent = try status(blocked: 180, accepted: "martlet_sender_last_accepted_seconds 190")
    #expect(silent.headline == .blocked)
    #expect(
      StatusText.warnings(silent).contains(
        "! nothing is delivered: APNs has accepted no push for 3 min"))
    // Something was delivered since; too soon to say; not known.
    for (blocked, accepted) in [(180, "170"), (59, "900")] {
      let one = try status(
        blocked: blocked, accepted: "martlet_sender_last_accepted_seconds \(accepted)")
      #expect(one.headline == .degraded, "\(blocked) \(accepted)")
    }
    #expect(try status(blocked: 180, accepted: "").headline == .degraded)
  }

  @Test func `what stands before ingest, or behind a transaction, needs a look`() throws {
    func warnings(_ page: String) throws -> [String] {
      StatusText.warnings(
        PipelineStatus([try reading("ingest", page)], before: [], seconds: 1, wall: 0))
    }
    #expect(
      try warnings("martlet_ingest_backlog_seconds 22")
        == ["! the oldest request that ingest has not finished is 22 s old"])
    #expect(try warnings("martlet_ingest_backlog_seconds 9").isEmpty)
    let held = #"martlet_kafka_group_held_by_transaction_seconds{group="g"} "#
    #expect(
      try warnings(held + "40") == [
        "! an open transaction of another producer holds records back for 40 s; the log names partition and remedy"
      ])
    #expect(try warnings(held + "9").isEmpty)
    #expect(
      try warnings("martlet_feedback_backlog_seconds 120")
        == ["! feedback is behind: its oldest unfinished record is 2 min old"])
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

  @Test func `a blocked app is named with credential, reason, time and how many wait`() throws {
    let sender = """
      martlet_sender_destinations{state="working"} 1
      martlet_sender_destinations{state="app"} 1
      martlet_sender_blocked_notifications{credential="T/K",environment="production",state="app"} 4
      martlet_sender_refused_seconds{app="chat",credential="T/K",environment="production",reason="Forbidden"} 90
      martlet_sender_refused_seconds{app="chat",credential="T/K",environment="sandbox",reason="Forbidden"} 900
      martlet_sender_destination_blocked_seconds{state="app"} 95
      martlet_kafka_group_lag_records{group="push.sender",topic="push.retries.1m"} 30
      """
    let other = sender.replacing(" 90\n", with: " 60\n")
    let now = [try reading("sender-1", sender), try reading("sender-2", other)]
    let status = PipelineStatus(now, before: [], seconds: 1, wall: 0)
    #expect(status.blockages.count == 1)
    #expect(status.blockages.first?.app == "chat" && status.blockages.first?.seconds == 90)
    #expect(
      StatusText.warnings(status) == [
        "! APNs refuses app chat with credential T/K in production (Forbidden), for 90 s; 8 wait in memory"
      ])
    #expect(StatusText.lines(status).contains("unread       push.retries.1m 60"))
    let json = try JSONDocument(StatusText.json(status)).root
    #expect(json["state"] == "degraded" && json["blocked"]?.array?.first?["reason"] == "Forbidden")
    #expect(json["waiting"]?.int == 0, "a count, never a text")
  }

  @Test func `a refusal that some loops know of an app and some of the credential is one line`()
    throws
  {
    let sender = """
      martlet_sender_destinations{state="app"} 1
      martlet_sender_destinations{state="credential"} 2
      martlet_sender_blocked_notifications{credential="T/K",environment="production",state="app"} 4
      martlet_sender_blocked_notifications{credential="T/K",environment="production",state="credential"} 3
      martlet_sender_refused_seconds{app="chat",credential="T/K",environment="production",reason="Forbidden"} 90
      """
    let status = PipelineStatus(
      [try reading("sender", sender)], before: [], seconds: 1, wall: 0)
    #expect(
      StatusText.warnings(status) == [
        "! APNs refuses app chat with credential T/K in production (Forbidden), for 90 s; 7 wait in memory"
      ])
    let whole = sender.replacing(#"app="chat""#, with: #"app="""#)
    let other = PipelineStatus([try reading("sender", whole)], before: [], seconds: 1, wall: 0)
    #expect(
      StatusText.warnings(other) == [
        "! APNs refuses credential T/K in production (Forbidden), for 90 s; 7 wait in memory"
      ])
  }

  @Test func `requests that wait for their time are counted, and a late one is named`() throws {
    func status(_ late: String) throws -> PipelineStatus {
      let page = "martlet_scheduler_entries 1200\nmartlet_scheduler_late_seconds \(late)"
      return PipelineStatus(
        [try reading("scheduler", page)], before: [], seconds: 1, wall: 1_000)
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

  @Test func `campaigns are shown with how far and how fast they are, and why one has stopped`()
    throws
  {
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
    let other =
      #"martlet_scheduler_campaign_state{campaign="sale",state="running",reason=""} 1"#
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

  @Test func `refused files, foreign answers and a webhook that is behind are named`() throws {
    let page = """
      martlet_sender_destinations{state="working"} 1
      martlet_sender_foreign_answers_total 7
      martlet_sender_reload_refused{file="certificates",app=""} 1
      martlet_sender_reload_refused{file="token-key",app=""} 0
      martlet_signer_reload_refused{file="credentials",app="chat"} 1
      martlet_webhooks_oldest_event_seconds{endpoint="a"} 901
      martlet_webhooks_oldest_event_seconds{endpoint="b"} 900
      """
    let before = try reading("sender", "martlet_sender_foreign_answers_total 6")
    let now = try reading("sender", page)
    let status = PipelineStatus([now], before: [before], seconds: 1, wall: 0)
    #expect(
      StatusText.warnings(status) == [
        "! a changed file is refused, and what it held before is in use: certificates; the log says why",
        "! a changed file is refused, and what it held before is in use: credentials (takes away app chat);"
          + " the log says why",
        "! something on the way to APNs answers in its place; the sender's log quotes it",
        "! webhook a has not accepted an event that is 15 min old",
      ])
    #expect(status.headline == .degraded)
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

  @Test(arguments: [
    (0, "0 s"), (0.0123, "12 ms"), (1, "1 s"), (3.52, "3.5 s"), (119.4, "119 s"), (600, "10 min"),
    (86_400, "24 h"), (7_776_000, "90 d"),
  ])
  func `times in words`(seconds: Double, text: String) {
    #expect(StatusText.duration(seconds) == text)
  }
}
