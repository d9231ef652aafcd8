// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Records
import ServiceKit
import Store
import Telemetry
import TestSupport
import Testing

/// Requests to users, through ingest and the scheduler.
@Suite struct UserRequestTests {
  private static let app = "com.example.app"

  private static func token(_ number: Int) -> String {
    String(repeating: "0", count: 62) + (number < 10 ? "0" : "") + "\(number)"
  }

  private static func register(
    _ store: TokenStore, _ number: Int, at: Int64, _ details: DeviceDetails
  ) throws {
    try store.transaction { () throws(StoreError) in
      let device = DeviceKey(token: token(number), app: app, environment: .production)
      try store.put(device, DeviceState(presence: .registered(at: at), details: details))
    }
  }

  private static func send(_ fixture: SchedulerFixture, _ id: String, _ more: String) throws {
    try fixture.produce(
      fixture.names.requests,
      #"{"app":"\#(app)","id":"\#(id)","payload":{"aps":{"alert":"x"}},\#(more)}"#)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a request goes to the devices of its users, and says to how many`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices(kind)
    try Self.register(store, 1, at: 10, DeviceDetails(user: "ann"))
    try Self.register(store, 2, at: 20, DeviceDetails(user: "ann"))
    try Self.register(store, 3, at: 30, DeviceDetails(pushType: "voip", user: "ann"))
    try Self.register(store, 4, at: 40, DeviceDetails(user: "bob"))
    let ingest = try fixture.ingest()
    // With a file the scheduler has one of its own.
    let own = kind == .sqlite ? fixture.folder.file("schedule.db") : location
    let scheduler = try fixture.scheduler(own, kind == .sqlite ? ["--devices", location] : [])
    try Self.send(fixture, "a", #""user":"ann","data":{"k":"v"},"group":"g","collapse_id":"c""#)
    try Self.send(fixture, "b", #""users":["ann","bob","ann","carl"]"#)
    try Self.send(fixture, "c", #""user":"carl""#)
    try Self.send(fixture, "d", #""user":"ann","type":"voip""#)
    try expectEventually {
      try fixture.receipts().count { $0.outcome == .addressed } == 4
    }
    #expect(try fixture.keys("a") == [1, 2].map(Self.token))
    #expect(try fixture.keys("b") == [1, 2, 4].map(Self.token))
    #expect(try fixture.keys("c").isEmpty)
    #expect(try fixture.keys("d") == [Self.token(3)])
    let first = try #require(try fixture.summary("a"))
    #expect(first.addressed == 2 && first.reason == nil && first.app == Self.app)
    #expect(first.data == #"{"k":"v"}"# && first.carried[.group] == "g" && first.apnsID == nil)
    #expect(try fixture.summary("b")?.addressed == 3)
    let nobody = try #require(try fixture.summary("c"))
    #expect(nobody.addressed == 0 && nobody.reason == "no_device" && nobody.detail != nil)
    #expect(eventually { scheduler.counter("loaded") == 0 })
    #expect(scheduler.counter("addressed") == 3 && scheduler.counter("without_device") == 1)
    #expect(scheduler.counter("devices_addressed") == 6)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test func `devices are those at the moment of sending, and a cancelled request has none`() throws
  {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices()
    try Self.register(store, 1, at: 10, DeviceDetails(user: "ann"))
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location])
    let due = fixture.due(in: 12_000, for: ingest, scheduler)
    let time = Timestamp.text(milliseconds: due)
    try Self.send(fixture, "a", #""user":"ann","send_at":"\#(time)""#)
    try Self.send(fixture, "cancelled", #""user":"ann","send_at":"\#(time)""#)
    #expect(eventually { scheduler.counter("scheduled") == 2 })
    try fixture.cancel("cancelled")
    try Self.register(store, 2, at: 20, DeviceDetails(user: "ann"))
    #expect(try eventually { try fixture.summary("a") != nil })
    #expect(try fixture.keys("a") == [1, 2].map(Self.token))
    #expect(try fixture.sent().allSatisfy { $0.at >= due })
    usleep(300_000)
    #expect(try fixture.summary("cancelled") == nil)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `while devices are read from the topics requests to users wait, and readiness says why`(
    _ kind: DatabaseKind
  ) throws {
    let fixture = try SchedulerFixture()
    let (location, store) = try fixture.devices(kind)
    try Self.register(store, 1, at: 10, DeviceDetails(user: "ann"))
    try store.startOver(at: 5)
    try store.transaction { () throws(StoreError) in
      try store.set(TableProgress(done: 37, total: 100))
    }
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location])
    func obstacle() -> String? {
      scheduler.context.status.obstacles.first { $0.condition == "devices" }?.reason
    }
    try Self.send(fixture, "a", #""user":"ann""#)
    try Self.send(fixture, "b", #""user":"bob""#)
    #expect(eventually { scheduler.counter("people_waiting") == 2 })
    #expect(
      eventually { obstacle()?.contains("37 % of 100 records") == true })
    #expect(try fixture.receipts().isEmpty)
    // What is read now; ann's first device is on no topic.
    try store.transaction { () throws(StoreError) in
      let device = DeviceKey(token: Self.token(2), app: Self.app, environment: .production)
      try store.put(
        device, DeviceState(presence: .registered(at: 20), details: DeviceDetails(user: "ann")))
      _ = try store.removeOldRows(after: nil, limit: 1_000)
      try store.setComplete(at: 9)
    }
    try expectEventually {
      try fixture.receipts().count { $0.outcome == .addressed } == 2
    }
    #expect(try fixture.keys("a") == [Self.token(2)])
    #expect(try fixture.summary("b")?.reason == "no_device")
    #expect(eventually { obstacle() == nil })
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test
  func `without a filled database requests to users wait, and no others`() throws {
    let fixture = try SchedulerFixture()
    let location = fixture.folder.file("tokens.db")
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(
      fixture.folder.file("schedule.db"), ["--devices", location, "--one-per-model", Self.app])
    try Self.send(fixture, "a", #""user":"ann""#)
    try Self.send(fixture, "cancelled", #""user":"ann""#)
    #expect(eventually { scheduler.counter("people_waiting") == 2 })
    #expect(eventually { scheduler.counter("people_failing") == 1 })
    try fixture.request("other", sendAt: WallClock.milliseconds() + 1_500)
    try expectEventually {
      try fixture.sent().contains { $0.id == "other" }
    }
    try fixture.cancel("cancelled")
    #expect(eventually { scheduler.counter("cancelled") == 1 })
    let store = try TokenStore(location, now: 1)
    for (number, at) in [(1, 10), (2, 20), (3, 30)] {
      try Self.register(
        store, number, at: Int64(at),
        DeviceDetails(user: "ann", model: number == 3 ? "iPad16,3" : "iPhone17,1"))
    }
    try store.setComplete(at: 1)
    #expect(try eventually { try fixture.summary("a") != nil })
    #expect(try fixture.keys("a") == [2, 3].map(Self.token))
    #expect(scheduler.counter("people_failing") == 0 && scheduler.counter("people_waiting") == 0)
    usleep(300_000)
    #expect(try fixture.summary("cancelled") == nil)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }
}
