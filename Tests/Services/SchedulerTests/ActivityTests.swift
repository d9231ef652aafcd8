// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import DeviceTokens
import EventLoop
import Glibc
import Records
import Store
import TestSupport
import Testing

/// Live Activities by person, through ingest and the scheduler.
@Suite struct ActivityTests {
  private static let app = "com.example.app"

  private static func token(_ number: Int) -> String {
    String(repeating: "0", count: 63) + "\(number)"
  }

  private static func register(
    _ store: TokenStore, _ number: Int, at: Int64, activity: String?
  ) throws {
    try store.transaction { () throws(StoreError) in
      try store.put(
        DeviceKey(token: token(number), app: app, environment: .production),
        DeviceState(
          presence: .registered(at: at),
          details: DeviceDetails(pushType: "liveactivity", user: "ann", activity: activity)))
    }
  }

  private static func send(
    _ fixture: SchedulerFixture, _ id: String, _ event: String, more: String = "",
    activity: String = "order-1"
  ) throws {
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"\#(app)","id":"\#(id)","type":"liveactivity","user":"ann","activity":"\#(activity)","#
        + #""event":"\#(event)","payload":{"aps":{"timestamp":1795000000,"event":"\#(event)","#
        + #""content-state":{"id":"\#(id)"}\#(more)}}}"#)
  }

  private static func summary(_ fixture: SchedulerFixture, _ id: String) throws -> Receipt? {
    try fixture.receipts().first { $0.id == id && $0.outcome == .addressed }
  }

  /// The tokens or channels that a request was sent to.
  private static func keys(_ fixture: SchedulerFixture, _ id: String) throws -> [String] {
    try fixture.readAll(fixture.names.notifications(.first)).compactMap { record in
      record.value?.contains("\t\(id)\t") == true ? record.key : nil
    }.sorted()
  }

  private static let start =
    #","alert":{"title":"x"},"attributes-type":"T","attributes":{}"#

  @Test(arguments: DatabaseKind.allCases)
  func `a start goes to a token that starts, what follows to the activity's, also late ones`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let location = try kind.location(in: fixture.folder)
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try Self.register(store, 1, at: 10, activity: nil)
    let ingest = try fixture.ingest()
    let own = kind == .sqlite ? fixture.folder.file("schedule.db") : location
    let scheduler = try fixture.scheduler(own, kind == .sqlite ? ["--devices", location] : [])
    try Self.send(fixture, "start", "start", more: Self.start)
    #expect(
      try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "start") != nil })
    #expect(try Self.keys(fixture, "start") == [Self.token(1)])
    // Nobody has a token for it yet.
    try Self.send(fixture, "early", "update")
    #expect(
      try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "early") != nil })
    #expect(try Self.summary(fixture, "early")?.addressed == 0)
    try Self.register(store, 2, at: WallClock.milliseconds(), activity: "order-1")
    try Self.register(store, 3, at: WallClock.milliseconds(), activity: "order-2")
    #expect(
      try eventually(withinMilliseconds: 20_000) {
        try Self.keys(fixture, "early") == [Self.token(2)]
      })
    try Self.send(fixture, "update", "update")
    try Self.send(fixture, "end", "end")
    #expect(
      try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "end") != nil })
    #expect(try Self.keys(fixture, "update") == [Self.token(2)])
    #expect(try Self.keys(fixture, "end") == [Self.token(2)])
    try Self.register(store, 4, at: WallClock.milliseconds(), activity: "order-1")
    #expect(
      try eventually(withinMilliseconds: 20_000) {
        try Self.keys(fixture, "end").contains(Self.token(4))
      })
    #expect(!(try Self.keys(fixture, "update").contains(Self.token(4))), "only the last state")
    #expect(try fixture.receipts().count { $0.outcome == .addressed } == 4)
    #expect(ingest.stop() == nil)
    #expect(scheduler.stop() == nil)
  }

  @Test func `an activity that was started with a channel is followed on it`() throws {
    let fixture = try SchedulerFixture()
    let location = fixture.folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try Self.register(store, 1, at: 10, activity: nil)
    let ingest = try fixture.ingest()
    let database = fixture.folder.file("schedule.db")
    let first = try fixture.scheduler(database, ["--devices", location])
    let channel = #","input-push-channel":"dHN0LXNyY2gtY2hubA==""#
    try Self.send(fixture, "start", "start", more: Self.start + channel)
    #expect(
      try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "start") != nil })
    try Self.send(fixture, "a", "update")
    #expect(try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "a") != nil })
    #expect(try Self.keys(fixture, "a") == ["dHN0LXNyY2gtY2hubA=="])
    #expect(try Self.summary(fixture, "a")?.channel == "dHN0LXNyY2gtY2hubA==")
    #expect(eventually(withinMilliseconds: 10_000) { first.counter("loaded") == 0 })
    #expect(first.stop() == nil)
    let second = try fixture.scheduler(database, ["--devices", location])
    try Self.send(fixture, "b", "end")
    #expect(try eventually(withinMilliseconds: 20_000) { try Self.summary(fixture, "b") != nil })
    #expect(try Self.keys(fixture, "b") == ["dHN0LXNyY2gtY2hubA=="])
    #expect(ingest.stop() == nil)
    #expect(second.stop() == nil)
  }
}
