// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import DeviceTokens
import EventLoop
import Glibc
import JSON
import Kafka
import Records
import Schedule
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import Scheduler

/// Campaigns on a broker: the audience is looked up in a database, and ingest makes notifications of what is written.
@Suite struct CampaignTests {
  private static let app = "com.example.app"

  private static func token(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  /// A database with devices, the even ones of them with the tag `even`.
  private static func fill(
    _ location: String, devices: Int, zone: (Int) -> String? = { _ in nil }
  ) throws {
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    try store.transaction { () throws(StoreError) in
      for number in 0..<devices {
        try store.put(
          DeviceKey(token: token(number), app: app, environment: .production),
          DeviceState(
            presence: .registered(at: 1_000), mark: nil,
            details: DeviceDetails(
              timeZone: zone(number), tags: number % 2 == 0 ? "even" : "odd"),
            history: DeviceHistory()))
      }
    }
  }

  private static func campaign(_ name: String, more: String = "") throws -> CampaignRecord {
    let json =
      #"{"campaign":"\#(name)","request":{"app":"\#(app)","payload":{"aps":{"alert":"Sale"}}},"#
      + #""audience":{"tags_any":["even"]}\#(more)}"#
    return try Array(json.utf8).withUnsafeBytes { bytes in
      try CampaignRecord(
        json: bytes, at: WallClock.milliseconds(), by: "test", parser: JSONParser())
    }
  }

  private static func start(_ fixture: SchedulerFixture, _ campaign: CampaignRecord) throws {
    try fixture.produce(
      fixture.names.schedule, key: campaign.key, String(decoding: campaign.value, as: UTF8.self))
  }

  private static func control(_ fixture: SchedulerFixture, _ name: String, _ member: String?) throws
  {
    try fixture.produce(
      fixture.names.controls, key: CampaignRecord.prefix + name,
      member.map { #"{"\#($0)":true,"at":\#(WallClock.milliseconds()),"by":"ann"}"# })
  }

  /// The campaign as the schedule's database has it.
  private static func shown(_ database: String, _ name: String) throws -> CampaignRecord? {
    try TokenStoreReader(database).campaigns().compactMap { entry in
      var text = entry.value
      return text.withUTF8 { try? CampaignRecord(UnsafeRawBufferPointer($0), parser: JSONParser()) }
    }.first { $0.name == name }
  }

  private static func tokens(_ fixture: SchedulerFixture) throws -> [String] {
    try fixture.readAll(fixture.names.notifications(.bulk)).compactMap(\.key)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `every device of the audience is addressed once, also by a scheduler with a new disk`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let devices = try kind.location(in: fixture.folder)
    try Self.fill(devices, devices: 5_000)
    let ingest = try fixture.ingest()
    let database = fixture.folder.file("schedule.db")
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(fixture, Self.campaign("sale"))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "sale"))??.progress.state == .done
      })
    let progress = try #require(try Self.shown(database, "sale")).progress
    #expect(progress.total == 2_500 && progress.addressed == 2_500)
    #expect(scheduler.counter("campaign_devices") == 2_500)
    #expect(
      try eventually(withinMilliseconds: 20_000) { try Self.tokens(fixture).count >= 2_500 })
    let even = Set((0..<2_500).map { Self.token($0 * 2) })
    #expect(try Set(Self.tokens(fixture)) == even && Self.tokens(fixture).count == 2_500)
    let record = try #require(try fixture.readAll(fixture.names.notifications(.bulk)).first?.value)
    #expect(record.contains("campaign:sale") && record.contains("sale"))
    #expect(scheduler.stop() == nil)
    // Nothing is begun again: neither by another disk, nor by another start.
    try Self.start(fixture, Self.campaign("sale"))
    let other = fixture.folder.file("other.db")
    let second = try fixture.scheduler(other, ["--devices", devices])
    #expect(eventually(withinMilliseconds: 30_000) { second.counter("restored") == 1 })
    #expect(
      eventually(withinMilliseconds: 10_000) {
        (try? Self.shown(other, "sale"))??.progress.state == .done
      })
    usleep(300_000)
    // The start is told, and what was written again behind it is not written again.
    #expect(second.counter("campaigns_started_again") == 1 && second.counter("restored") == 1)
    #expect(second.counter("addressed") == 0)
    #expect(try Self.tokens(fixture).count == 2_500)
    #expect(second.stop() == nil && ingest.stop() == nil)
  }

  @Test func `devices are addressed at their own local time`() throws {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 300) { number in
      number % 3 == 0 ? "Pacific/Kiritimati" : number % 3 == 1 ? "Asia/Kathmandu" : nil
    }
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    // It is soon that time in the zone that is first, and hours later in the others.
    let soon = (WallClock.milliseconds() / 1_000 + 3) * 1_000
    let local = Timestamp.text(milliseconds: soon + 14 * 3_600_000).dropLast()
    try Self.start(fixture, Self.campaign("nine", more: #","send_at":"\#(local)""#))
    func progress() -> CampaignProgress? { (try? Self.shown(database, "nine"))??.progress }
    // Asia/Kathmandu is 5:45 h ahead of UTC, of which the devices without a zone are.
    let next = soon + 14 * 3_600_000 - 20_700_000
    #expect(eventually(withinMilliseconds: 30_000) { progress()?.wave == next })
    let state = try #require(progress())
    #expect(state.state == .running && state.total == 150 && state.cursor == "")
    #expect(state.addressed == 50)
    let requests = try fixture.readAll(fixture.names.requests)
    let text = try #require(requests.first?.value)
    #expect(requests.count == 1 && requests[0].timestamp >= soon)
    #expect((0..<300).allSatisfy { text.contains(Self.token($0)) == ($0 % 6 == 0) })
    #expect(scheduler.stop() == nil)
  }

  @Test func `a paused campaign waits, and a cancelled one ends`() throws {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 100)
    try Self.control(fixture, "sale", "paused")
    usleep(5_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    let campaign = try Self.campaign("sale")
    #expect(
      eventually(withinMilliseconds: 20_000) { scheduler.counter("partitions_assigned") == 2 })
    // The pause is older than the campaign: it concerned another one.
    try Self.start(fixture, campaign)
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.state == .done
      })
    let soon = WallClock.milliseconds() / 1_000 + 2
    try Self.start(fixture, Self.campaign("held", more: #","send_at":\#(soon)"#))
    try Self.control(fixture, "held", "paused")
    while WallClock.milliseconds() < soon * 1_000 + 500 { usleep(50_000) }
    #expect(try Self.shown(database, "held")?.progress.state == .scheduled)
    try Self.control(fixture, "held", nil)
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "held"))??.progress.state == .done
      })
    // It waits for its time meanwhile.
    let time = WallClock.milliseconds() / 1_000 + 3_600
    try Self.start(fixture, Self.campaign("later", more: #","send_at":\#(time)"#))
    usleep(5_000)
    try Self.control(fixture, "later", "cancelled")
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "later"))??.progress.state == .cancelled
      })
    #expect(try #require(try Self.shown(database, "later")).progress.reason == "cancelled by ann")
    #expect(scheduler.counter("campaign_devices") == 100)
    #expect(scheduler.stop() == nil)
  }

  @Test func `a campaign stops itself after its first part`() throws {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 2_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(
      fixture,
      Self.campaign(
        "bad",
        more: #","first":{"percent":1,"wait_seconds":0},"stop":{"rejected_percent":20}"#))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "bad"))??.progress.state == .trial
      })
    #expect(try #require(try Self.shown(database, "bad")).progress.addressed == 10)
    func receipt(_ outcome: String) -> String {
      #"{"outcome":"\#(outcome)","apns_id":"b05d4a9e-0a3b-4a4e-9b57-3fb2a3a4d3c1","id":"campaign:bad","app":"a.b"}"#
    }
    let lines = [receipt("delivered"), receipt("rejected"), receipt("rejected")]
    try fixture.produce(fixture.names.receipts, lines.joined(separator: "\n"))
    try fixture.produce(fixture.names.receipts, receipt("rejected"))
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "bad"))??.progress.state == .stopped
      })
    let campaign = try #require(try Self.shown(database, "bad"))
    #expect(campaign.progress.reason?.hasSuffix("pushes were rejected") == true)
    #expect(campaign.progress.addressed == 10 && campaign.outcomes["rejected"] == 3)
    #expect(scheduler.counter("campaigns_stopped") == 1)
    let state = SchedulerMetrics.campaignState.name
    #expect(
      eventually(withinMilliseconds: 5_000) {
        scheduler.context.counters.samples.contains {
          $0.metric.name == state && $0.labels[1] == "stopped"
        }
      })
    #expect(scheduler.stop() == nil)
  }

  @Test func `a hundred campaigns have metrics: those that are not over first, then the newest`()
    throws
  {
    let figures = CampaignFigures()
    func campaign(_ number: Int64, _ state: CampaignProgress.State = .running) throws
      -> CampaignRecord
    {
      var campaign = try Self.campaign("c\(number)")
      campaign.at = number
      campaign.progress.state = state
      (campaign.progress.total, campaign.progress.addressed) = (10, 5)
      if state.isOver { campaign.progress.endedAt = 1_000_000 }
      return campaign
    }
    func names() -> [String] {
      figures.samples.filter { $0.metric == SchedulerMetrics.campaignState }.map { $0.labels[0] }
    }
    func unlisted() -> MetricValue? {
      figures.samples.first { $0.metric == SchedulerMetrics.campaignsUnlisted }?.value
    }
    #expect(names() == [] && unlisted() == .integer(0))
    var (running, over) = (try campaign(1), try campaign(2, .stopped))
    over.progress.reason = "x"
    (running.outcomes, running.rates) = (
      ["delivered": 3], CampaignRates(at: 1_000_000, addressed: 1.5, outcomes: 0.5)
    )
    figures.show([over, running], now: 1_000_000)
    #expect(names() == ["c1", "c2"])
    func value(_ metric: Metric, _ labels: [String]) -> MetricValue? {
      figures.samples.first { $0.metric == metric && $0.labels == labels }?.value
    }
    #expect(value(SchedulerMetrics.campaignState, ["c2", "stopped", "x"]) == .integer(1))
    #expect(value(SchedulerMetrics.campaignAudience, ["c1"]) == .integer(10))
    #expect(value(SchedulerMetrics.campaignAddressed, ["c1"]) == .integer(5))
    #expect(value(SchedulerMetrics.campaignOutcomes, ["c1", "delivered"]) == .integer(3))
    #expect(value(SchedulerMetrics.campaignRate, ["c1", "outcomes"]) == .thousandths(500))
    #expect(value(SchedulerMetrics.campaignLeft, ["c1"]) == .integer(14))
    #expect(value(SchedulerMetrics.campaignLeft, ["c2"]) == nil)
    figures.show([over], now: 1_000_000 + CampaignFigures.kept + 1)
    #expect(names() == [])
    figures.show(try (3..<105).map { try campaign($0) } + [over], now: 1_000_000)
    #expect(names().count == 100 && names().first == "c104" && !names().contains("c2"))
    #expect(unlisted() == .integer(3))
  }

  @Test func `a campaign sets its pace before its first request`() throws {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 100)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(fixture, Self.campaign("sale", more: #","pace":"200/s""#))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "sale"))??.progress.state == .done
      })
    #expect(try #require(try Self.shown(database, "sale")).progress.hasSetPace)
    let pace = try #require(try fixture.readAll(fixture.names.controls).first)
    #expect(pace.key == "pace:group:sale" && pace.value?.contains(#""pace":"200/s""#) == true)
    let request = try #require(try fixture.readAll(fixture.names.requests).first)
    #expect(request.timestamp >= pace.timestamp + 900)
    #expect(scheduler.stop() == nil)
  }

  private static func count(
    _ lines: [String], _ campaigns: [String: CampaignRecord]
  ) -> CampaignReceipts.Tallies {
    var tallies: CampaignReceipts.Tallies = [:]
    Array(lines.joined(separator: "\n").utf8).withUnsafeBytes {
      CampaignReceipts.count($0, campaigns.mapValues { .init($0) }, &tallies)
    }
    return tallies
  }

  @Test func `receipts are counted by the campaign that their id names`() throws {
    let lines = [
      #"{"outcome":"delivered","apns_id":"x","id":"campaign:a","app":"b"}"#,
      #"{"outcome":"rejected","apns_id":"x","id":"campaign:a","app":"b"}"#,
      #"{"outcome":"deduplicated","apns_id":"x","id":"campaign:a","app":"b"}"#,
      #"{"outcome":"delivered","apns_id":"x","id":"campaign:ab","app":"b"}"#,
      #"{"outcome":"delivered","apns_id":"x","id":"a","app":"campaign:a"}"#, "", "campaign:a",
    ]
    let tallies = try Self.count(lines, ["a": Self.campaign("a")])
    #expect(tallies.count == 1)
    #expect(
      tallies["a"]
        == .init(
          outcomes: ["delivered": 1, "rejected": 1, "deduplicated": 1],
          evidence: CampaignEvidence(outcomes: 2, rejected: 1)))
  }

  /// A receipt as senders write it.
  private static func receipt(
    _ id: String, _ outcome: Outcome = .delivered, app: String = app,
    environment: Environment = .production, status: UInt16 = 200, reason: String = "",
    took: Int64 = 100
  ) -> String {
    var buffer = ByteBuffer()
    var line = ReceiptLine(outcome, at: 1_795_000_000_000 + took)
    (line.environment, line.status, line.created) = (environment, status, 1_795_000_000_000)
    Array(id.utf8).withUnsafeBytes { id in
      Array(app.utf8).withUnsafeBytes { app in
        Array(reason.utf8).withUnsafeBytes { reason in
          (line.escapedID, line.app, line.reason, line.apnsID) = (id, app, reason, id)
          ReceiptEncoder.append(line, into: &buffer)
        }
      }
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  @Test func `invalid tokens and times are counted, and those of the app's other pushes`() throws {
    let limits = #","stop":{"unregistered_times":5,"slower_than_ms":2000}"#
    let campaigns = [
      "a": try Self.campaign("a", more: limits), "b": try Self.campaign("b"),
    ]
    let lines = [
      Self.receipt("campaign:a"), Self.receipt("campaign:a", took: 2_001),
      Self.receipt("campaign:a", .rejected, status: 410, reason: "Unregistered", took: 2_000),
      Self.receipt("campaign:a", .rejected, status: 400, reason: "BadDeviceToken"),
      Self.receipt("campaign:a", .rejected, status: 400, reason: "BadTopic"),
      Self.receipt("campaign:b", .rejected, status: 410, reason: "Unregistered"),
      Self.receipt("order"), Self.receipt("order", .suppressed, reason: "token_known_invalid"),
      Self.receipt("order", .deduplicated), Self.receipt("order", app: Self.app + "s"),
      Self.receipt("order", environment: .sandbox),
    ]
    let tallies = Self.count(lines, campaigns)
    #expect(
      tallies["a"]?.evidence
        == CampaignEvidence(
          outcomes: 5, rejected: 3, unregistered: 2, timed: 5, slow: 1,
          others: .init(outcomes: 3, unregistered: 1)))
    #expect(
      tallies["b"]?.evidence == CampaignEvidence(outcomes: 1, rejected: 1, unregistered: 1))
  }
}
