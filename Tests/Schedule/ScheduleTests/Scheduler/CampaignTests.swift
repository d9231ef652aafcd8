// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

@testable import Scheduler

/// Campaigns on a broker: the audience is looked up in a database, and ingest makes notifications of what is written.
@Suite struct CampaignTests {
  static let app = "com.example.app"

  private static func token(_ number: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 64 - digits.count) + digits
  }

  /// A database with devices, the even ones of them with the tag `even`.
  static func fill(_ location: String, devices: Int, zone: (Int) -> String? = { _ in nil }) throws {
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    try store.transaction { () throws(StoreError) in
      for number in 0..<devices {
        try store.put(
          DeviceKey(token: token(number), app: app, environment: .production),
          DeviceState(
            presence: .registered(at: 1_000), mark: nil,
            details: DeviceDetails(timeZone: zone(number), tags: number % 2 == 0 ? "even" : "odd"),
            history: DeviceHistory()))
      }
    }
  }

  /// A fixture with such a database, and where that and the scheduler's are.
  static func filled(
    _ count: Int, zone: (Int) -> String? = { _ in nil }
  ) throws -> (fixture: SchedulerFixture, devices: String, database: String) {
    let fixture = try SchedulerFixture()
    let devices = fixture.folder.file("d.db")
    try fill(devices, devices: count, zone: zone)
    return (fixture, devices, fixture.folder.file("s.db"))
  }

  static func campaign(
    _ name: String, more: String = "", at time: Int64 = WallClock.milliseconds()
  ) throws -> CampaignRecord {
    let json =
      #"{"campaign":"\#(name)","request":{"app":"\#(app)","payload":{"aps":{"alert":"Sale"}}},"#
      + #""audience":{"tags_any":["even"]}\#(more)}"#
    return try SchedulerFixture.campaign(json, at: time)
  }

  static func key(_ name: String, app: String = app, _ environment: Environment = .production)
    -> CampaignKey
  {
    CampaignKey(name: name, app: app, environment: environment)!
  }

  private static func control(_ fixture: SchedulerFixture, _ name: String, _ member: String?) throws
  {
    try fixture.produce(
      fixture.names.controls, key: "\(key(name))",
      member.map { #"{"\#($0)":true,"at":\#(WallClock.milliseconds()),"by":"ann"}"# })
  }

  /// The campaign as the schedule's database has it.
  static func shown(
    _ database: String, _ name: String, app: String = app
  ) throws -> CampaignRecord? {
    try TokenStoreReader(database).campaigns().compactMap { entry in
      var text = entry.value
      return text.withUTF8 { try? CampaignRecord(UnsafeRawBufferPointer($0), parser: JSONParser()) }
    }.first { $0.name == name && $0.key.app == app }
  }

  /// Expects that a campaign comes to this.
  static func expectProgress(
    _ database: String, _ name: String, app: String = app, fileID: String = #fileID,
    filePath: String = #filePath, line: Int = #line, _ isThere: (CampaignProgress) -> Bool
  ) {
    expectEventually(fileID: fileID, filePath: filePath, line: line) {
      guard let campaign = (try? shown(database, name, app: app)) ?? nil else { return false }
      return isThere(campaign.progress)
    }
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
    try fixture.start(Self.campaign("sale"))
    Self.expectProgress(database, "sale") { $0.state == .done }
    let progress = try #require(try Self.shown(database, "sale")).progress
    #expect(progress.total == 2_500 && progress.addressed == 2_500)
    #expect(scheduler.counter("campaign_devices") == 2_500)
    #expect(try eventually { try Self.tokens(fixture).count >= 2_500 })
    let even = Set((0..<2_500).map { Self.token($0 * 2) })
    #expect(try Set(Self.tokens(fixture)) == even && Self.tokens(fixture).count == 2_500)
    let record = try #require(try fixture.readAll(fixture.names.notifications(.bulk)).first?.value)
    #expect(record.contains("campaign:sale") && record.contains("sale"))
    #expect(scheduler.stop() == nil)
    // Nothing is begun again: neither by another disk, nor by another start.
    try fixture.start(Self.campaign("sale"))
    let other = fixture.folder.file("other.db")
    let second = try fixture.scheduler(other, ["--devices", devices])
    #expect(eventually { second.counter("restored") == 1 })
    expectEventually {
      (try? Self.shown(other, "sale"))??.progress.state == .done
    }
    usleep(300_000)
    // The start is told, and what was written again behind it is not written again.
    #expect(second.counter("campaigns_started_again") == 1 && second.counter("restored") == 1)
    #expect(second.counter("addressed") == 0)
    #expect(try Self.tokens(fixture).count == 2_500)
    #expect(second.stop() == nil && ingest.stop() == nil)
  }

  @Test func `devices are addressed at their own local time`() throws {
    let (fixture, devices, database) = try Self.filled(300) { number in
      number % 3 == 0 ? "Pacific/Kiritimati" : number % 3 == 1 ? "Asia/Kathmandu" : nil
    }
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    // It is soon that time in the zone that is first, and hours later in the others.
    let soon = (WallClock.milliseconds() / 1_000 + 3) * 1_000
    let local = Timestamp.text(milliseconds: soon + 14 * 3_600_000).dropLast()
    try fixture.start(Self.campaign("nine", more: #","send_at":"\#(local)""#))
    func progress() -> CampaignProgress? { (try? Self.shown(database, "nine"))??.progress }
    // Asia/Kathmandu is 5:45 h ahead of UTC, of which the devices without a zone are.
    let next = soon + 14 * 3_600_000 - 20_700_000
    #expect(eventually { progress()?.wave == next })
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
    let (fixture, devices, database) = try Self.filled(100)
    try Self.control(fixture, "sale", "paused")
    usleep(5_000)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    let campaign = try Self.campaign("sale")
    expectEventually { scheduler.counter("partitions_assigned") == 2 }
    // The pause is older than the campaign: it concerned another one.
    try fixture.start(campaign)
    Self.expectProgress(database, "sale") { $0.state == .done }
    let soon = WallClock.milliseconds() / 1_000 + 10
    try fixture.start(Self.campaign("held", more: #","send_at":\#(soon)"#))
    try Self.control(fixture, "held", "paused")
    Self.expectProgress(database, "held") { $0.isPaused }
    while WallClock.milliseconds() < soon * 1_000 + 500 { usleep(50_000) }
    #expect(try Self.shown(database, "held")?.progress.state == .scheduled)
    try Self.control(fixture, "held", nil)
    Self.expectProgress(database, "held") { $0.state == .done }
    // It waits for its time meanwhile.
    let time = WallClock.milliseconds() / 1_000 + 3_600
    try fixture.start(Self.campaign("later", more: #","send_at":\#(time)"#))
    usleep(5_000)
    try Self.control(fixture, "later", "cancelled")
    Self.expectProgress(database, "later") { $0.state == .cancelled }
    #expect(try #require(try Self.shown(database, "later")).progress.reason == "cancelled by ann")
    #expect(scheduler.counter("campaign_devices") == 100)
    #expect(scheduler.stop() == nil)
  }

  @Test
  func `a campaign sets its pace before its first request, and addresses half a minute ahead`()
    throws
  {
    let (fixture, devices, database) = try Self.filled(600)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    try fixture.start(Self.campaign("sale", more: #","pace":"2/s""#))
    Self.expectProgress(database, "sale") { $0.addressed == 60 }
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
    Self.expectProgress(database, "sale") { $0.addressed == 72 }
    // A pause, and a device that loses its tag meanwhile is not addressed afterwards.
    try Self.control(fixture, "sale", "paused")
    Self.expectProgress(database, "sale") { $0.isPaused }
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
    Self.expectProgress(database, "sale") { $0.addressed == 84 }
    // A cancellation holds at once: nobody else is addressed.
    try Self.control(fixture, "sale", "cancelled")
    Self.expectProgress(database, "sale") { $0.state == .cancelled }
    try fixture.produce(fixture.names.receipts, outcomes.joined(separator: "\n"))
    usleep(500_000)
    #expect(try Self.shown(database, "sale")?.progress.addressed == 84)
    let texts = try fixture.readAll(fixture.names.campaignRequests).compactMap(\.value)
    #expect(!texts.contains { $0.contains(next) })
    #expect(scheduler.stop() == nil)
  }

  /// Ingest sends it in the last lane; paces of other lanes do not count.
  @Test func `a campaign that names no lane goes by the pace of the last one`() throws {
    let (fixture, devices, database) = try Self.filled(600)
    for (lane, pace) in [("codes", "1/m"), ("bulk", "1/m"), ("night", "2/s")] {
      try fixture.produce(
        fixture.names.controls, key: "pace:lane:\(lane)", #"{"pace":"\#(pace)","at":1,"by":"ann"}"#)
    }
    let scheduler = try fixture.scheduler(
      database, ["--devices", devices, "--lanes", "codes:8:1h,bulk:4,night:1"])
    try fixture.start(Self.campaign("sale"))
    Self.expectProgress(database, "sale") { $0.addressed == 60 }
    usleep(500_000)
    let shown = try #require(try Self.shown(database, "sale"))
    #expect(shown.progress.addressed == 60 && shown.progress.state == .running)
    #expect(scheduler.stop() == nil)
  }

  @Test
  func `with its API key a campaign ends, and so do requests that wait for their time`() throws {
    let (fixture, devices, database) = try Self.filled(100)
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    var campaign = try Self.campaign("sale", more: #","pace":"1/m""#)
    campaign.by = "key shop"
    try fixture.start(campaign)
    let time = WallClock.milliseconds() / 1_000 + 3_600
    for (id, by) in [("a", "key shop"), ("b", "key other"), ("c", "")] {
      try fixture.produce(
        fixture.names.requests,
        #"{"app":"com.example.app","id":"\#(id)","token":"\#(SchedulerFixture.token)","payload":{"aps":{"alert":"x"}},"send_at":\#(time)}"#,
        headers: by.isEmpty ? [] : [KafkaHeader("by", by)])
    }
    #expect(eventually { scheduler.counter("scheduled") == 3 })
    try fixture.produce(
      fixture.names.controls, key: "holder:key shop",
      #"{"ended":true,"at":\#(WallClock.milliseconds()),"by":"martlet-api"}"#)
    #expect(eventually { scheduler.counter("cancelled") == 1 })
    Self.expectProgress(database, "sale") { $0.state == .cancelled }
    #expect(
      try Self.shown(database, "sale")?.progress.reason
        == "cancelled by the removal of API key shop")
    let entry = try TokenStoreReader(database).scheduled(key: "com.example.app:production:a")
    #expect(entry?.value.contains("the removal of API key shop") == true)
    // What the key's holder asks for afterwards, under the same name, counts.
    var again = try Self.campaign("again")
    again.by = "key shop"
    try fixture.start(again)
    Self.expectProgress(database, "again") { $0.state == .done }
    #expect(scheduler.stop() == nil && ingest.stop() == nil)
  }

  @Test func `campaigns of one name are two if their apps are, and a pause is of one`() throws {
    let (fixture, devices, database) = try Self.filled(100)
    let scheduler = try fixture.scheduler(database, ["--devices", devices])
    let own = try Self.campaign("sale", more: #","pace":"1/s""#)
    let json =
      #"{"campaign":"sale","request":{"app":"com.example.other","payload":{"aps":{"alert":"x"}}},"audience":{},"pace":"1/h"}"#
    let other = try Array(json.utf8).withUnsafeBytes { bytes in
      try CampaignRecord(json: bytes, at: own.at, by: "b", parser: JSONParser())
    }
    try fixture.start(other)
    try fixture.produce(
      fixture.names.controls, key: "\(other.key)", #"{"paused":true,"at":\#(own.at + 60_000)}"#)
    try fixture.start(own)
    Self.expectProgress(database, "sale", app: Self.app) { $0.addressed == 30 }
    Self.expectProgress(database, "sale", app: "com.example.other") { $0.isPaused }
    #expect(scheduler.counter("campaigns_started_again") == 0)
    #expect(scheduler.stop() == nil)
  }
}
