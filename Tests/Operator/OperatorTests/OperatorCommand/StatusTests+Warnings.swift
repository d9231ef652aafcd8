// SPDX-License-Identifier: Apache-2.0
import Records
import Telemetry
import Testing

@testable import OperatorCommand

/// What needs a look, and what nobody gets past.
extension StatusTests {
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

  @Test func `a certificate that has expired is not said to expire`() throws {
    let end = #"martlet_sender_certificate_not_after_timestamp_seconds{certificate="ab"} 1000"#
    for (wall, words) in [(400.0, "expires in 10 min"), (260_200, "expired 3 d ago")] {
      let status = PipelineStatus([try reading("sender", end)], before: [], seconds: 1, wall: wall)
      #expect(
        StatusText.warnings(status)
          == ["! a client certificate \(words); the sender's log names it"])
      #expect(StatusText.lines(status).contains { $0.hasSuffix("first certificate \(words)") })
    }
  }

  @Test func `a pause of one lane hides no backlog of another`() throws {
    let page = """
      martlet_sender_paused{kind="lane"} 1
      martlet_sender_backlog_seconds{lane="transactional"} 240
      martlet_sender_backlog_seconds{lane="bulk"} 0
      """
    let status = PipelineStatus([try reading("sender", page)], before: [], seconds: 1, wall: 0)
    #expect(
      StatusText.warnings(status) == [
        "! paused: 1 lane; martlet pause lists them",
        "! the oldest unfinished notification of the lane transactional is 4 min old",
      ])
  }

  private func headline(_ text: String, _ others: [ProcessReading] = []) throws -> Headline {
    PipelineStatus([try reading("sender", text)] + others, before: [], seconds: 1, wall: 0).headline
  }

  @Test
  func `ready, degraded or blocked: what works, what needs a look, what nobody gets past`() throws {
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

  @Test func `a process that has answered is known by its name when it does not any more`() throws {
    let (names, url) = (ProcessNames(), "http://10.0.0.5:9464")
    let gone = ProcessReading(process: url, state: .unreachable("refused"), page: nil)
    let ingest = try reading("martlet-ingest 10.0.0.5:9470", "martlet_ingest_requests_total 1")
    func headline() -> Headline {
      PipelineStatus([ingest, names.named(gone, at: url)], before: [], seconds: 1, wall: 0).headline
    }
    #expect(headline() == .degraded)
    let sender = try reading("martlet-sender 10.0.0.5:9464", "")
    #expect(names.named(sender, at: url).process == sender.process)
    #expect(names.named(gone, at: url).process == sender.process)
    #expect(headline() == .blocked)
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

  @Test
  func `a refusal that some loops know of an app and some of the credential is one line`() throws {
    let sender = """
      martlet_sender_destinations{state="app"} 1
      martlet_sender_destinations{state="credential"} 2
      martlet_sender_blocked_notifications{credential="T/K",environment="production",state="app"} 4
      martlet_sender_blocked_notifications{credential="T/K",environment="production",state="credential"} 3
      martlet_sender_refused_seconds{app="chat",credential="T/K",environment="production",reason="Forbidden"} 90
      """
    let status = PipelineStatus([try reading("sender", sender)], before: [], seconds: 1, wall: 0)
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

  @Test func `refused files, foreign answers and a webhook that is behind are named`() throws {
    let page = """
      martlet_sender_destinations{state="working"} 1
      martlet_sender_foreign_answers_total 7
      martlet_sender_reload_refused{file="certificates",app=""} 1
      martlet_sender_reload_refused{file="token-key",app=""} 0
      martlet_signer_reload_refused{file="credentials",app="chat"} 1
      martlet_api_reload_refused{file="keys",app=""} 1
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
        "! a changed file is refused, and what it held before is in use: keys; the log says why",
        "! something on the way to APNs answers in its place; the sender's log quotes it",
        "! webhook a has not accepted an event that is 15 min old",
      ])
    #expect(status.headline == .degraded)
  }
}
