// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// A device by its number.
func device(_ number: Int) -> DeviceKey {
  DeviceKey(token: String(number + 0x1000, radix: 16), app: "a", environment: .sandbox)
}

/// Reading the topics anew beside the rows that are there, and that nobody is answered from some of them.
@Suite struct CompletenessTests {
  private let folder = TemporaryFolder()

  private let mark = DeviceState.Mark(since: 7, aliveFrom: 8, reason: "Unregistered", recordedAt: 9)

  /// Ten devices: registered twice, marked, removed.
  private func filled(_ location: String) throws -> TokenStore {
    let store = try TokenStore(location, now: 1)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: (0..<10).map(device))
      for number in 0..<10 {
        var state = DeviceState()
        state.apply(.registered(at: 3), DeviceDetails(user: "ann"))
        state.apply(.registered(at: 5), DeviceDetails(user: "ann"))
        if number % 3 == 1 { state.apply(mark) }
        if number % 3 == 2 { state.apply(.removed(at: 6)) }
        rows[device(number)] = state
      }
      try store.write(rows)
      try store.setComplete(at: 50)
    }
    return store
  }

  @Test(arguments: DatabaseKind.allCases)
  func `rows of an earlier reading stay until all is read, and what no topic has goes then`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    var store = try filled(location)
    let before = try store.deviceCounts()
    #expect(try store.state() == .complete(generation: 1) && !store.hasOldRows())
    try store.startOver(at: 90)
    #expect(try store.followedAt() == 90 && store.hasOldRows())
    #expect(try store.deviceCounts() == before && TokenStoreReader(location).deviceCount() == 10)
    // What the topics still have of two of them; of one only a mark, of another no fact at all. The process is killed then.
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: [device(0), device(1), device(2)])
      var state = rows[device(0)]
      #expect(state.isEmpty)
      state.apply(.registered(at: 5), DeviceDetails(user: "bob"))
      rows[device(0)] = state
      state = rows[device(1)]
      state.apply(mark)
      rows[device(1)] = state
      try store.write(rows)
    }
    #expect(try TokenStoreReader(location).deviceCount() == 9, "the third is on no topic")
    #expect(
      try store.deviceCounts()
        == DeviceCounts(registered: before.registered, removed: 2, invalid: before.invalid))
    store = try TokenStore(location, now: 2)
    #expect(try store.state() == .filling(TableProgress(done: 0, total: 0)) && store.hasOldRows())
    #expect(try store.device(device(0)).details.user == "bob")
    #expect(try store.device(device(0)).history.changes.first?.at == 3, "history stays")
    var (end, removed, pages): (DeviceKey?, Int, Int) = (nil, 0, 0)
    repeat {
      let page = try store.transaction { () throws(StoreError) in
        try store.removeOldRows(after: end, limit: 4)
      }
      (end, removed, pages) = (page.end, removed + page.removed, pages + 1)
    } while end != nil
    try store.noteOldRowsGone()
    try store.setComplete(at: 120)
    #expect(removed == 7 && pages == 3)
    #expect(try store.deviceCounts() == DeviceCounts(registered: 1, removed: 0, invalid: 1))
    #expect(try TokenStoreReader(location).deviceCount() == 2)
    #expect(try store.state() == .complete(generation: 2) && !store.hasOldRows())
  }

  /// A removal has a mark on the topic, too, which is none of APNs.
  @Test(arguments: DatabaseKind.allCases)
  func `rows with the mark of a removal leave the count that they were in`(kind: DatabaseKind)
    throws
  {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    let removal = DeviceState.Mark(removedAt: 6)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: (0..<3).map(device))
      rows[device(0)] = DeviceState(presence: .removed(at: 6), mark: removal)
      rows[device(1)] = DeviceState(presence: .registered(at: 5), mark: removal)
      rows[device(2)] = DeviceState(presence: .registered(at: 5), mark: mark)
      try store.write(rows)
    }
    #expect(try store.deviceCounts() == DeviceCounts(registered: 1, removed: 1, invalid: 1))
    try store.startOver(at: 90)
    #expect(try store.removeOldRows(after: nil, limit: 10).removed == 3)
    #expect(try store.deviceCounts() == DeviceCounts())
  }

  @Test(arguments: DatabaseKind.allCases)
  func `nothing is looked up before all is there, and not while it is read anew`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let audience = Audience(app: "a", environment: .sandbox, type: "alert")
    let question = PersonQuestion(
      user: "ann", app: "a", environment: .sandbox, types: [nil], limit: 10)
    do {
      _ = try TokenStore(location, now: 1)
      let error = #expect(throws: StoreError.self) { try AudienceReader(location).count(audience) }
      #expect(error?.description.contains("name the database that it keeps") == true)
    }
    let store = try filled(location)
    let (audiences, people) = (try AudienceReader(location), try UsersReader(location))
    #expect(try audiences.count(audience) == 4)
    #expect(try people.devices([question]).first?.count == 4)
    try store.startOver(at: 60)
    try store.transaction { () throws(StoreError) in
      try store.set(TableProgress(done: 1, total: 4))
    }
    let looks: [() throws -> Void] = [
      { _ = try audiences.count(audience) },
      { _ = try audiences.devices(audience, after: "", limit: 5) },
      { _ = try audiences.zones(audience) }, { _ = try people.devices([question]) },
    ]
    for look in looks {
      let error = #expect(throws: StoreError.self) { try look() }
      #expect(error?.description.contains("25 % of 4 records") == true)
    }
    try store.setComplete(at: 70)
    #expect(try people.devices([question]).first?.count == 4)
    // It was read anew meanwhile: the answer may be from some of the rows.
    let reader = try TokenStoreReader(location)
    #expect(throws: StoreError.self) {
      try reader.whileComplete { () throws(StoreError) in
        try store.startOver(at: 80)
        try store.setComplete(at: 90)
      }
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a process writes for the reading that another one has begun`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let (store, other) = (try filled(location), try TokenStore(location, now: 1))
    try store.startOver(at: 60)
    try other.transaction { () throws(StoreError) in
      try other.followGeneration()
      var rows = try other.rows(of: [device(0)])
      #expect(rows[device(0)].isEmpty)
      rows[device(0)] = DeviceState(presence: .registered(at: 9))
      try other.write(rows)
    }
    #expect(try store.removeOldRows(after: nil, limit: 100).removed == 9)
    #expect(try store.deviceCounts() == DeviceCounts(registered: 1))
  }

  @Test func `the view of invalid tokens goes by its index`() throws {
    let store = try filled(folder.file("tokens.db"))
    for question in [
      "SELECT count(*) FROM dead_tokens", "SELECT token FROM dead_tokens",
      "SELECT token FROM dead_tokens WHERE app = 'a' AND recorded_at > 5",
    ] {
      let plan = try store.database.prepare("EXPLAIN QUERY PLAN \(question)")
      #expect(try plan.next())
      #expect(plan.text(3).contains("USING INDEX devices_dead"), "\(question): \(plan.text(3))")
    }
    #expect(try TokenStoreReader(folder.file("tokens.db")).invalidCount() == 3)
  }
}
