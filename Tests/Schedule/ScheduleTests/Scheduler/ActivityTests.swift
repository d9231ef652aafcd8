// SPDX-License-Identifier: Apache-2.0
import Contract
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
    activity: String = "order-1", payload: String? = nil
  ) throws {
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"\#(app)","id":"\#(id)","type":"liveactivity","user":"ann","activity":"\#(activity)","#
        + #""event":"\#(event)","payload":{"aps":{"timestamp":1795000000,"event":"\#(payload ?? event)","#
        + #""content-state":{"id":"\#(id)"}\#(more)}}}"#)
  }

  private static let start = #","alert":{"title":"x"},"attributes-type":"T","attributes":{}"#

  @Test(arguments: DatabaseKind.allCases)
  func `a start goes to a token that starts, what follows to the activity's, also late ones`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices(kind)
    try Self.register(store, 1, at: 10, activity: nil)
    let ingest = try fixture.ingest()
    let own = kind == .sqlite ? fixture.folder.file("schedule.db") : location
    let scheduler = try fixture.scheduler(own, kind == .sqlite ? ["--devices", location] : [])
    try Self.send(fixture, "start", "start", more: Self.start)
    try expectEventually { try fixture.summary("start") != nil }
    #expect(try fixture.keys("start") == [Self.token(1)])
    // Nobody has a token for it yet.
    try Self.send(fixture, "early", "update")
    try expectEventually { try fixture.summary("early") != nil }
    #expect(try fixture.summary("early")?.addressed == 0)
    try Self.register(store, 2, at: WallClock.milliseconds(), activity: "order-1")
    try Self.register(store, 3, at: WallClock.milliseconds(), activity: "order-2")
    try expectEventually {
      try fixture.keys("early") == [Self.token(2)]
    }
    try Self.send(fixture, "update", "update")
    try Self.send(fixture, "end", "end")
    #expect(try eventually { try fixture.summary("end") != nil })
    #expect(try fixture.keys("update") == [Self.token(2)])
    #expect(try fixture.keys("end") == [Self.token(2)])
    try Self.register(store, 4, at: WallClock.milliseconds(), activity: "order-1")
    try expectEventually {
      try fixture.keys("end").contains(Self.token(4))
    }
    #expect(!(try fixture.keys("update").contains(Self.token(4))), "only the last state")
    #expect(try fixture.receipts().count { $0.outcome == .addressed } == 4)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a start waits for a token that comes a little later, and is sent once`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices(kind)
    let ingest = try fixture.ingest()
    let own = kind == .sqlite ? fixture.folder.file("schedule.db") : location
    let scheduler = try fixture.scheduler(own, kind == .sqlite ? ["--devices", location] : [])
    try Self.send(fixture, "start", "start", more: Self.start)
    try Self.send(fixture, "never", "start", more: Self.start, activity: "order-2")
    // They have been looked up, and wait for ten seconds.
    #expect(eventually { scheduler.counter("loaded") == 2 })
    usleep(500_000)
    #expect(try fixture.summary("start") == nil)
    try Self.register(store, 1, at: WallClock.milliseconds(), activity: nil)
    try expectEventually {
      try fixture.summary("start")?.addressed == 1
    }
    try expectEventually {
      try fixture.keys("start") == [Self.token(1)]
    }
    // Both were to the same person, and each is sent once.
    try expectEventually { try fixture.keys("never") == [Self.token(1)] }
    usleep(1_500_000)
    #expect(try fixture.receipts().count { $0.outcome == .addressed } == 2)
    #expect(try fixture.keys("start") == [Self.token(1)])
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test func `a start for somebody who stays without a token says so, and starts nothing`() throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices()
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location])
    try Self.send(fixture, "start", "start_or_update", more: Self.start, payload: "start")
    try expectEventually {
      try fixture.summary("start")?.addressed == 0
    }
    // It does not run: the next one starts it.
    try Self.register(store, 1, at: WallClock.milliseconds(), activity: nil)
    try Self.send(fixture, "again", "start_or_update", more: Self.start, payload: "start")
    try expectEventually {
      try fixture.keys("again") == [Self.token(1)]
    }
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test func `an activity whose start becomes a dead letter is not running`() throws {
    let fixture = try SchedulerFixture(partitions: 1, requestBytes: 5_000)
    let (location, store) = try fixture.devices()
    try Self.register(store, 1, at: 10, activity: nil)
    let now = WallClock.milliseconds()
    let large = (0..<6_000).map { "\($0 &* 40_503 % 65_536)" }.joined()
    try fixture.produce(
      fixture.names.schedule, key: "\(Self.app):production:large",
      "S1\t\(now)\t\(now)\t\t\tliveactivity\tstart\torder-1\tann\n"
        + "{\"id\":\"large\",\"x\":\"\(large)\"}")
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location])
    try expectEventually { try fixture.readAll(fixture.names.deadLetters).count == 1 }
    // Its state was written before it.
    let key = ScheduleKey(app: Self.app, environment: .production, user: "ann", activity: "order-1")
    try expectEventually {
      let states = try fixture.readAll(fixture.names.schedule).filter { $0.key == "\(key)" }
      return states.count == 2 && states.last?.value == nil
    }
    #expect(scheduler.stop() == nil)
  }

  @Test func `start_or_update starts what does not run, and updates what does`() throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices()
    try Self.register(store, 1, at: 10, activity: nil)
    try Self.register(store, 2, at: 10, activity: "order-1")
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location])
    func send(_ id: String, _ event: String) throws {
      let isStart = event == "start_or_update"
      try Self.send(
        fixture, id, event, more: isStart ? Self.start : "", payload: isStart ? "start" : nil)
    }
    func isSent(_ id: String, to token: Int, as event: String) throws -> Bool {
      try eventually {
        try fixture.readAll(fixture.names.notifications(.first)).contains { record in
          record.value?.contains("\t\(id)\t") == true && record.key == Self.token(token)
            && record.value?.contains(#""event":"\#(event)""#) == true
            && record.value?.contains(#""attributes""#) == (event == "start")
        }
      }
    }
    // At once, as two servers would send them.
    try send("a", "start_or_update")
    try send("b", "start_or_update")
    let first = try isSent("a", to: 1, as: "start")
    #expect(try first ? isSent("b", to: 2, as: "update") : isSent("b", to: 1, as: "start"))
    try send("c", "start_or_update")
    #expect(try isSent("c", to: 2, as: "update"))
    try send("d", "end")
    #expect(try isSent("d", to: 2, as: "end"))
    try send("e", "start_or_update")
    #expect(try isSent("e", to: 1, as: "start"))
    try expectEventually {
      try fixture.receipts().count { $0.outcome == .addressed && $0.addressed == 1 } == 5
    }
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test func `an activity that was started with a channel is followed on it`() throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices()
    try Self.register(store, 1, at: 10, activity: nil)
    let ingest = try fixture.ingest()
    let database = fixture.folder.file("schedule.db")
    let first = try fixture.scheduler(database, ["--devices", location])
    let channel = #","input-push-channel":"dHN0LXNyY2gtY2hubA==""#
    try Self.send(fixture, "start", "start", more: Self.start + channel)
    try expectEventually { try fixture.summary("start") != nil }
    try Self.send(fixture, "a", "update")
    #expect(try eventually { try fixture.summary("a") != nil })
    #expect(try fixture.keys("a") == ["dHN0LXNyY2gtY2hubA=="])
    #expect(try fixture.summary("a")?.channel == "dHN0LXNyY2gtY2hubA==")
    #expect(eventually { first.counter("loaded") == 0 })
    #expect(first.stop() == nil)
    let second = try fixture.scheduler(database, ["--devices", location])
    try Self.send(fixture, "b", "end")
    #expect(try eventually { try fixture.summary("b") != nil })
    #expect(try fixture.keys("b") == ["dHN0LXNyY2gtY2hubA=="])
    #expect(ingest.stop() == nil && second.stop() == nil)
  }
}
