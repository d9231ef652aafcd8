// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
import DeviceTokens
import EventLoop
import Glibc
import Identity
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

  private static func key(
    _ name: String, app: String = app, _ environment: Environment = .production
  )
    -> CampaignKey
  {
    CampaignKey(name: name, app: app, environment: environment)!
  }

  private static func start(_ fixture: SchedulerFixture, _ campaign: CampaignRecord) throws {
    try fixture.produce(
      fixture.names.schedule, key: "\(campaign.key)",
      String(decoding: campaign.value, as: UTF8.self))
  }

  private static func control(_ fixture: SchedulerFixture, _ name: String, _ member: String?) throws
  {
    try fixture.produce(
      fixture.names.controls, key: "\(key(name))",
      member.map { #"{"\#($0)":true,"at":\#(WallClock.milliseconds()),"by":"ann"}"# })
  }

  /// The campaign as the schedule's database has it.
  private static func shown(
    _ database: String, _ name: String, app: String = app
  ) throws -> CampaignRecord? {
    try TokenStoreReader(database).campaigns().compactMap { entry in
      var text = entry.value
      return text.withUTF8 { try? CampaignRecord(UnsafeRawBufferPointer($0), parser: JSONParser()) }
    }.first { $0.name == name && $0.key.app == app }
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
    let requests = try fixture.readAll(fixture.names.campaignRequests)
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
      Self.line("bad", Outcome(outcome.utf8.span)!)
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
    #expect(campaign.progress.addressed == 10 && campaign.outcomes[.rejected] == 3)
    #expect(scheduler.counter("campaigns_stopped") == 1)
    let state = SchedulerMetrics.campaignState.metric.name
    #expect(
      eventually(withinMilliseconds: 5_000) {
        scheduler.context.counters.samples.contains {
          $0.metric.name == state && $0.labels[3] == "stopped"
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
      figures.samples.filter { $0.metric == SchedulerMetrics.campaignState.metric }.map {
        $0.labels[0]
      }
    }
    func unlisted() -> MetricValue? {
      figures.samples.first { $0.metric == SchedulerMetrics.campaignsUnlisted.metric }?.value
    }
    #expect(names() == [] && unlisted() == .integer(0))
    var (running, over) = (try campaign(1), try campaign(2, .stopped))
    over.progress.reason = "x"
    (running.outcomes, running.rates) = (
      CampaignCounts([("delivered", 3)]),
      CampaignRates(at: 1_000_000, addressed: 1.5, outcomes: 0.5)
    )
    figures.show([over, running], now: 1_000_000)
    #expect(names() == ["c1", "c2"])
    func own(_ name: String) -> [String] { [name, Self.app, "production"] }
    func value(_ declared: SchedulerMetrics, _ labels: [String]) -> MetricValue? {
      figures.samples.first { $0.metric == declared.metric && $0.labels == labels }?.value
    }
    #expect(value(SchedulerMetrics.campaignState, own("c2") + ["stopped", "x"]) == .integer(1))
    #expect(value(SchedulerMetrics.campaignAudience, own("c1")) == .integer(10))
    #expect(value(SchedulerMetrics.campaignAddressed, own("c1")) == .integer(5))
    #expect(value(SchedulerMetrics.campaignOutcomes, own("c1") + ["delivered"]) == .integer(3))
    #expect(value(SchedulerMetrics.campaignRate, own("c1") + ["outcomes"]) == .thousandths(500))
    #expect(value(SchedulerMetrics.campaignLeft, own("c1")) == .integer(14))
    #expect(value(SchedulerMetrics.campaignLeft, own("c2")) == nil)
    figures.show([over], now: 1_000_000 + CampaignFigures.kept + 1)
    #expect(names() == [])
    figures.show(try (3..<105).map { try campaign($0) } + [over], now: 1_000_000)
    #expect(names().count == 100 && names().first == "c104" && !names().contains("c2"))
    #expect(unlisted() == .integer(3))
  }

  @Test
  func `a campaign sets its pace before its first request, and addresses half a minute ahead`()
    throws
  {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 600)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(fixture, Self.campaign("sale", more: #","pace":"2/s""#))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "sale"))??.progress.addressed == 60
      })
    #expect(try #require(try Self.shown(database, "sale")).progress.hasSetPace)
    let pace = try #require(try fixture.readAll(fixture.names.controls).first)
    #expect(pace.key == "pace:group:\(Self.app):production:sale")
    #expect(pace.value?.contains(#""pace":"2/s""#) == true)
    let request = try #require(try fixture.readAll(fixture.names.campaignRequests).first)
    #expect(request.timestamp >= pace.timestamp + 900)
    usleep(500_000)
    let shown = try #require(try Self.shown(database, "sale"))
    #expect(shown.progress.addressed == 60 && shown.progress.state == .running)
    // Outcomes make room: as many again, and no more.
    let outcomes = (0..<12).map { _ in Self.line("sale") }
    try fixture.produce(fixture.names.receipts, outcomes.joined(separator: "\n"))
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.addressed == 72
      })
    // A pause, and a device that loses its tag meanwhile is not addressed afterwards.
    try Self.control(fixture, "sale", "paused")
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.isPaused == true
      })
    try fixture.produce(fixture.names.receipts, outcomes.joined(separator: "\n"))
    usleep(500_000)
    #expect(try Self.shown(database, "sale")?.progress.addressed == 72)
    let next = Self.token(72 * 2)
    let store = try TokenStore(devices, now: 0)
    try store.transaction { () throws(StoreError) in
      try store.put(
        DeviceKey(token: next, app: Self.app, environment: .production),
        DeviceState(
          presence: .registered(at: 1_000), mark: nil, details: DeviceDetails(tags: "odd"),
          history: DeviceHistory()))
    }
    try Self.control(fixture, "sale", nil)
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.addressed == 84
      })
    // A cancellation holds at once: nobody else is addressed.
    try Self.control(fixture, "sale", "cancelled")
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.state == .cancelled
      })
    try fixture.produce(fixture.names.receipts, outcomes.joined(separator: "\n"))
    usleep(500_000)
    #expect(try Self.shown(database, "sale")?.progress.addressed == 84)
    let texts = try fixture.readAll(fixture.names.campaignRequests).compactMap(\.value)
    #expect(!texts.contains { $0.contains(next) })
    #expect(scheduler.stop() == nil)
  }

  @Test func `what is addressed and not sent ends when a campaign stops itself: senders are told`()
    throws
  {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 1_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(
      fixture,
      Self.campaign("bad", more: #","pace":"20/s","stop":{"unregistered_percent":10}"#))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "bad"))??.progress.addressed ?? 0 > 0
      })
    let lines = (0..<100).map { _ in
      Self.line("bad", .rejected, status: 410, reason: "Unregistered")
    }
    try fixture.produce(fixture.names.receipts, lines.joined(separator: "\n"))
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "bad"))??.progress.state == .stopped
      })
    func control() throws -> ReadRecord? {
      try fixture.readAll(fixture.names.controls).last { $0.key == "\(Self.key("bad"))" }
    }
    #expect(
      try eventually(withinMilliseconds: 20_000) {
        try control()?.value?.contains(#""cancelled":true"#) == true
      })
    #expect(try control()?.value?.contains("martlet-scheduler") == true)
    #expect(scheduler.stop() == nil)
  }

  @Test func `with its API key a campaign ends, and so do requests that wait for their time`()
    throws
  {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 100)
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    var campaign = try Self.campaign("sale", more: #","pace":"1/m""#)
    campaign.by = "key shop"
    try Self.start(fixture, campaign)
    let time = WallClock.milliseconds() / 1_000 + 3_600
    for (id, by) in [("a", "key shop"), ("b", "key other"), ("c", "")] {
      try fixture.produce(
        fixture.names.requests,
        #"{"app":"com.example.app","id":"\#(id)","token":"\#(SchedulerFixture.token)","payload":{"aps":{"alert":"x"}},"send_at":\#(time)}"#,
        headers: by.isEmpty ? [] : [KafkaHeader("by", by)])
    }
    #expect(eventually(withinMilliseconds: 30_000) { scheduler.counter("scheduled") == 3 })
    try fixture.produce(
      fixture.names.controls, key: "holder:key shop",
      #"{"ended":true,"at":\#(WallClock.milliseconds()),"by":"martlet-api"}"#)
    #expect(eventually(withinMilliseconds: 30_000) { scheduler.counter("cancelled") == 1 })
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale"))??.progress.state == .cancelled
      })
    #expect(
      try Self.shown(database, "sale")?.progress.reason
        == "cancelled by the removal of API key shop")
    let entry = try TokenStoreReader(database).scheduled(key: "com.example.app:production:a")
    #expect(entry?.value.contains("the removal of API key shop") == true)
    // What the key's holder asks for afterwards, under the same name, counts.
    var again = try Self.campaign("again")
    again.by = "key shop"
    try Self.start(fixture, again)
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "again"))??.progress.state == .done
      })
    #expect(scheduler.stop() == nil && ingest.stop() == nil)
  }

  @Test func `campaigns of one name are two if their apps are, and a pause is of one`() throws {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 100)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    let own = try Self.campaign("sale", more: #","pace":"1/s""#)
    let json =
      #"{"campaign":"sale","request":{"app":"com.example.other","payload":{"aps":{"alert":"x"}}},"audience":{},"pace":"1/h"}"#
    let other = try Array(json.utf8).withUnsafeBytes { bytes in
      try CampaignRecord(json: bytes, at: own.at, by: "b", parser: JSONParser())
    }
    try Self.start(fixture, other)
    try fixture.produce(
      fixture.names.controls, key: "\(other.key)", #"{"paused":true,"at":\#(own.at + 60_000)}"#)
    try Self.start(fixture, own)
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "sale", app: Self.app))??.progress.addressed == 30
      })
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "sale", app: "com.example.other"))??.progress.isPaused == true
      })
    #expect(scheduler.counter("campaigns_started_again") == 0)
    #expect(scheduler.stop() == nil)
  }

  @Test func `another campaign that begins blinds no stop rule, and counts from its own start`()
    throws
  {
    let fixture = try SchedulerFixture()
    let (devices, database) = (fixture.folder.file("d.db"), fixture.folder.file("s.db"))
    try Self.fill(devices, devices: 1_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try Self.start(
      fixture, Self.campaign("first", more: #","pace":"10/s","stop":{"rejected_percent":60}"#))
    func counted(_ name: String) -> Int? { (try? Self.shown(database, name))??.outcomes.total }
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "first"))??.progress.addressed == 300
      })
    let fifty = (0..<50).map { _ in Self.line("first", .rejected) }.joined(separator: "\n")
    try fixture.produce(fixture.names.receipts, fifty)
    #expect(eventually(withinMilliseconds: 20_000) { counted("first") == 50 })
    try Self.start(fixture, Self.campaign("second", more: #","pace":"1/s""#))
    #expect(
      eventually(withinMilliseconds: 30_000) {
        (try? Self.shown(database, "second"))??.progress.addressed ?? 0 > 0
      })
    try fixture.produce(fixture.names.receipts, Self.line("second") + "\n" + Self.line("first"))
    #expect(
      eventually(withinMilliseconds: 20_000) { counted("second") == 1 && counted("first") == 51 })
    // An older one comes to this process: its past is read beside, and nothing is counted twice.
    let old = try Self.campaign("old", more: #","pace":"1/s","stop":{"rejected_percent":90}"#)
    usleep(20_000)
    try fixture.produce(fixture.names.receipts, Self.line("old"))
    try Self.start(fixture, old)
    #expect(eventually(withinMilliseconds: 20_000) { counted("old") == 1 })
    try fixture.produce(fixture.names.receipts, Self.line("old") + "\n" + fifty)
    #expect(eventually(withinMilliseconds: 20_000) { counted("old") == 2 })
    #expect(
      eventually(withinMilliseconds: 20_000) {
        (try? Self.shown(database, "first"))??.progress.state == .stopped
      })
    #expect(try Self.shown(database, "first")?.progress.reason == "100 of 101 pushes were rejected")
    #expect(scheduler.stop() == nil)
  }

  private static func count(
    _ lines: [String], _ campaigns: [CampaignRecord]
  ) -> CampaignReceipts.Tallies {
    var tallies: CampaignReceipts.Tallies = [:]
    let subjects = Dictionary(
      uniqueKeysWithValues: campaigns.map { ($0.key, CampaignReceipts.Subject($0)) })
    Array(lines.joined(separator: "\n").utf8).withUnsafeBytes {
      CampaignReceipts.count($0, subjects, &tallies)
    }
    return tallies
  }

  /// A receipt as senders write it.
  private static func line(
    _ campaign: String?, _ outcome: Outcome = .delivered, id: String = "campaign:a",
    app: String = app, environment: Environment = .production, status: UInt16 = 200,
    reason: String = "", took: Int64 = 100, more: String = ""
  ) -> String {
    var buffer = ByteBuffer()
    var line = ReceiptLine(outcome, at: 1_795_000_000_000 + took)
    (line.environment, line.status, line.created) = (environment, status, 1_795_000_000_000)
    let fields = Array((more + (campaign.map { "\tcampaign=\($0)" } ?? "")).utf8)
    fields.withUnsafeBytes { fields in
      Array(id.utf8).withUnsafeBytes { id in
        Array(app.utf8).withUnsafeBytes { app in
          Array(reason.utf8).withUnsafeBytes { reason in
            (line.escapedID, line.app, line.reason, line.apnsID) = (id, app, reason, id)
            if fields.count > 1 {
              line.carried = CarriedFields(UnsafeRawBufferPointer(rebasing: fields[1...]))
            }
            ReceiptEncoder.append(line, into: &buffer)
          }
        }
      }
    }
    return String(decoding: buffer.bytes, as: UTF8.self)
  }

  @Test
  func `receipts are counted by the campaign that ingest has noted, of its app and environment`()
    throws
  {
    let lines = [
      Self.line("a"), Self.line("a", .rejected, id: "x"), Self.line("a", .deduplicated),
      Self.line("ab"), Self.line(nil), Self.line("a", app: "com.example.other"),
      Self.line("a", environment: .sandbox), "", "campaign:a",
      // What an application says in its own fields is no campaign.
      Self.line(nil, more: "\tdata=" + #"{"x":"1","campaign":"a"}"#),
      Self.line(nil, more: "\tdata=" + #"{"campaign":"a"}"#),
      Self.line(nil, more: "\tgroup=" + #"x","campaign":"a"#), Self.line(nil, more: "\tgroup=a"),
      Self.line(nil, id: #"x\",\"campaign\":\"a"#),
    ]
    let tallies = try Self.count(lines, [Self.campaign("a")])
    #expect(tallies.count == 1)
    #expect(
      tallies[Self.key("a")]
        == .init(
          outcomes: CampaignCounts([("delivered", 1), ("rejected", 1), ("deduplicated", 1)]),
          evidence: CampaignEvidence(outcomes: 2, ended: 3, rejected: 1)))
  }

  @Test func `outcomes that are none are counted together, and a refused request is told`() throws {
    let invented = (0..<1_000).map { number in
      Self.line("a").replacing(#""delivered""#, with: "\"kind\(number)\"")
    }
    let refused =
      #"{"outcome":"dead_lettered","id":"campaign:a","app":"\#(Self.app)","environment":"production","reason":"invalid_request","detail":"lane: \"x\" is not one of a, b","at":1795000000000,"campaign":"a"}"#
    let tally = try #require(
      try Self.count(invented + [refused], [Self.campaign("a")])[Self.key("a")])
    #expect(tally.outcomes.named.map(\.name) == ["dead_lettered", "other"])
    #expect(tally.outcomes.total == 1_001)
    #expect(tally.evidence.refusal == #"lane: "x" is not one of a, b"#)
  }

  @Test func `invalid tokens and times are counted, and those of the app's other pushes`() throws {
    let limits = #","stop":{"unregistered_times":5,"slower_than_ms":2000}"#
    let campaigns = [try Self.campaign("a", more: limits), try Self.campaign("b")]
    let lines = [
      Self.line("a"), Self.line("a", took: 2_001),
      Self.line("a", .rejected, status: 410, reason: "Unregistered", took: 2_000),
      Self.line("a", .rejected, status: 400, reason: "BadDeviceToken"),
      Self.line("a", .rejected, status: 400, reason: "BadTopic"),
      Self.line("b", .rejected, status: 410, reason: "Unregistered"),
      Self.line(nil), Self.line(nil, .suppressed, reason: "token_known_invalid"),
      Self.line(nil, .deduplicated), Self.line(nil, app: Self.app + "s"),
      Self.line(nil, environment: .sandbox),
    ]
    let tallies = Self.count(lines, campaigns)
    #expect(
      tallies[Self.key("a")]?.evidence
        == CampaignEvidence(
          outcomes: 5, rejected: 3, unregistered: 2, timed: 5, slow: 1,
          others: .init(outcomes: 3, unregistered: 1)))
    #expect(
      tallies[Self.key("b")]?.evidence
        == CampaignEvidence(outcomes: 1, rejected: 1, unregistered: 1))
  }
}
