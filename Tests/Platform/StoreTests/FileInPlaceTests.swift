// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import TestSupport
import Testing

@testable import Store

/// A SQLite file that is removed or replaced while it is open: nobody goes on with what is not there any more.
@Suite struct FileInPlaceTests {
  private let folder = TemporaryFolder()

  private var location: String { folder.file("tokens.db") }

  private func remove() throws {
    for suffix in ["", "-wal", "-shm"] where File.exists(location + suffix) {
      try File.remove(location + suffix)
    }
  }

  /// A complete database with one device of this user.
  private func filled(user: ExactText) throws -> TokenStore {
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    try store.transaction { () throws(StoreError) in
      try store.put(
        DeviceKey(token: "a1", app: "a", environment: .production),
        DeviceState(presence: .registered(at: 5), details: DeviceDetails(user: user.text)))
    }
    return store
  }

  private func question(_ user: ExactText) -> PersonQuestion {
    PersonQuestion(user: user, app: "a", environment: .production, types: [nil], limit: 9)
  }

  @Test func `a reader refuses to answer from a file that was replaced; the next one has the new`()
    throws
  {
    let old = try filled(user: "ann")
    let (users, queries) = (try UsersReader(location), try TokenQueries(location))
    let (audiences, schedule) = (try AudienceReader(location), try ScheduleQueries(location))
    #expect(try users.devices([question("ann")])[0].count == 1)
    #expect(try schedule.obstacle() == nil)
    let audience = Audience(app: "a", environment: .production, type: "alert")
    #expect(try audiences.count(audience) == 1)
    try remove()
    let new = try filled(user: "bob")
    #expect(throws: StoreError.self) { try users.devices([question("ann")]) }
    #expect(throws: StoreError.self) { try queries.state() }
    #expect(throws: StoreError.self) { try queries.outcomes(of: "x", apps: nil, limit: 1) }
    #expect(throws: StoreError.self) { try audiences.zones(audience) }
    #expect(throws: StoreError.self) { try schedule.obstacle() }
    #expect(try UsersReader(location).devices([question("bob")])[0].count == 1)
    withExtendedLifetime((old, new)) {}
  }

  @Test func `a writer without its file fails for good, and a new one begins anew`() throws {
    let store = try filled(user: "ann")
    try store.demandWritable()
    try remove()
    let error = #expect(throws: StoreError.self) { try store.demandWritable() }
    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("is not at \(location) any more: it was removed") == true)
    #expect(try TokenStore(location, now: 1).state() == .unfilled)
  }
}
