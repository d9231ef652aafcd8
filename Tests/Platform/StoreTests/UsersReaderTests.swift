// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// The devices of people in the database, on both kinds.
@Suite struct UsersReaderTests {
  private let folder = TemporaryFolder()

  private static let app = "com.example.app"

  private static func put(
    _ store: TokenStore, _ token: String, app: String = app, at: Int64,
    _ details: DeviceDetails, mark: DeviceState.Mark? = nil, environment: Environment = .production
  ) throws {
    try store.transaction { () throws(StoreError) in
      try store.put(
        DeviceKey(token: token, app: app, environment: environment),
        DeviceState(presence: .registered(at: at), mark: mark, details: details))
    }
  }

  private static func question(
    _ user: ExactText, _ types: [String?] = [nil, "alert", "background"], limit: Int = 10
  ) -> PersonQuestion {
    PersonQuestion(user: user, app: app, environment: .production, types: types, limit: limit)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `users and activities of other bytes but equal text are two`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try Self.put(store, "a1", at: 10, DeviceDetails(user: "Zoé", tags: "caf\u{E9}"))
    try Self.put(store, "a2", at: 20, DeviceDetails(user: "Zoe\u{301}", tags: "cafe\u{301}"))
    let reader = try UsersReader(location)
    let found = try reader.devices([Self.question("Zoé"), Self.question("Zoe\u{301}")])
    #expect(found.map { $0.map(\.token) } == [["a1"], ["a2"]])
    // Registered for the other one: the row changes.
    try Self.put(store, "a1", at: 30, DeviceDetails(user: "Zoe\u{301}"))
    #expect(try reader.devices([Self.question("Zoé")]) == [[]])
    #expect(try TokenStoreReader(location).devices(ofUser: "Zoe\u{301}").count == 2)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `devices that are registered, valid and of the type are found, the newest first`(
    _ kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let ann = DeviceDetails(user: "ann", bundle: "b", model: "m")
    let dead = DeviceState.Mark(since: 50, aliveFrom: 51, reason: "Unregistered", recordedAt: 60)
    try Self.put(store, "a1", at: 10, ann)
    try Self.put(store, "a2", at: 30, DeviceDetails(pushType: "alert", user: "ann"))
    try Self.put(store, "a3", at: 20, DeviceDetails(pushType: "background", user: "ann"))
    try Self.put(store, "a4", at: 40, DeviceDetails(pushType: "voip", user: "ann"))
    try Self.put(store, "a5", at: 45, ann, mark: dead)
    try Self.put(store, "a6", at: 55, ann, mark: dead)
    try Self.put(store, "a7", app: "a.b", at: 70, ann)
    try Self.put(store, "a8", at: 70, ann, environment: .sandbox)
    try Self.put(store, "a9", at: 70, DeviceDetails(user: "annette"))
    try store.transaction { () throws(StoreError) in
      try store.put(
        DeviceKey(token: "aa", app: Self.app, environment: .production),
        DeviceState(presence: .removed(at: 80)))
    }
    let reader = try UsersReader(location)
    #expect(throws: StoreError.self) { try reader.devices([Self.question("ann")]) }
    try store.setComplete(at: 1)
    let odd = #"o"\'{},d"#
    try Self.put(store, "b1", at: 1, DeviceDetails(user: odd))
    let found = try reader.devices([
      Self.question("ann"), Self.question("nobody"), Self.question("ann", ["voip"]),
      Self.question(odd.exact), Self.question("ann", limit: 2),
    ])
    #expect(
      found.map { $0.map(\.token) } == [
        ["a6", "a2", "a3", "a1"], [], ["a4"], ["b1"], ["a6", "a2"],
      ])
    #expect(found[0][3] == Recipients.Device(token: "a1", bundle: "b", model: "m"))
    #expect(found[0][1].model == nil)
    #expect(try reader.devices([]).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `tokens of an activity are found by its name, and those that were registered lately`(
    _ kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    func details(_ activity: String?) -> DeviceDetails {
      DeviceDetails(pushType: "liveactivity", user: "ann", activity: activity)
    }
    try Self.put(store, "a0", at: 5, details(nil))
    try Self.put(store, "a1", at: 10, details("order-1"))
    try Self.put(store, "a2", at: 20, details("order-1"))
    try Self.put(store, "a3", at: 30, details("order-2"))
    try Self.put(store, "a4", at: 40, DeviceDetails(user: "ann", activity: "order-1"))
    let reader = try UsersReader(location)
    func question(_ activity: ExactText?) -> PersonQuestion {
      PersonQuestion(
        user: "ann", app: Self.app, environment: .production, types: ["liveactivity"],
        activity: activity, limit: 10)
    }
    let found = try reader.devices([question(nil), question("order-1"), question("order-3")])
    #expect(found.map { $0.map(\.token) } == [["a0"], ["a2", "a1"], []])
    #expect(try reader.activityTokens(after: 10, limit: 9).map(\.device.token) == ["a3", "a2"])
    let newest = try reader.activityTokens(after: 0, limit: 1)
    #expect(newest.map(\.activity) == ["order-2"] && newest[0].registeredAt == 30)
    #expect(newest[0].user == "ann" && newest[0].device.app == Self.app)
  }

  @Test func `the newest of very many devices of a user are found by the index`() throws {
    let location = folder.file("a.db")
    let store = try TokenStore(location, now: 1)
    let question = UsersReader.devices(
      ["'x'", "'a'", "'production'"], types: ["''", "''", "''"], activity: "''", limit: "9")
    let statement = try store.database.prepare("EXPLAIN QUERY PLAN \(question)")
    var steps: [String] = []
    while try statement.next() { steps.append(statement.text(3)) }
    #expect(steps.count == 1 && steps[0].contains("devices_person"), "\(steps)")
  }
}
