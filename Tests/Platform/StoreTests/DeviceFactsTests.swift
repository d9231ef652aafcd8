// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// What a row has besides its state: details, history, and the counts that change with it.
@Suite struct DeviceFactsTests {
  private let folder = TemporaryFolder()

  private func device(_ number: Int, app: String = "a") -> DeviceKey {
    DeviceKey(
      token: String(number + 0x1000, radix: 16), app: app,
      environment: number % 2 == 0 ? .sandbox : .production)
  }

  private let mark = DeviceState.Mark(since: 5, aliveFrom: 6, reason: "Unregistered", recordedAt: 7)

  @Test(arguments: DatabaseKind.allCases)
  func `details and history come back as they were written`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    var state = DeviceState()
    let details = DeviceDetails(
      pushType: "voip", user: "ann \"x\" {,}", locale: "en_GB", appVersion: "1.2", bundle: "b",
      model: "iPhone17,1", timeZone: "Europe/Zurich", tags: "german vip", activity: "order-1")
    state.apply(.registered(at: 1))
    state.apply(mark)
    state.apply(.registered(at: 9), details)
    try store.put(device(1), state)
    #expect(try store.device(device(1)) == state)
    #expect(try store.rows(of: [device(1)])[device(1)] == state)
    #expect(try TokenQueries(location).state(device(1)) == state)
    #expect(state.history.changes.map(\.change) == [.registered, .invalid, .revived])
    state.apply(DeviceState.Mark?.none)
    try store.put(device(1), state)
    #expect(try store.device(device(1)).history == state.history, "the mark is gone, not its trace")
    try store.put(device(2), DeviceState(presence: .registered(at: 1)))
    #expect(
      try store.database.integer("SELECT count(*) FROM devices WHERE history IS NULL") == 1,
      "a row that has only its own fact needs no history")
  }

  @Test(arguments: DatabaseKind.allCases)
  func `counts are those of the rows, whatever changes`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    func counted() throws -> DeviceCounts {
      var counts = DeviceCounts()
      try TokenStoreReader(location).forEachDevice(DeviceFilter(), pageSize: 3) { known in
        if let word = known.state.word { counts[word] += 1 }
        return true
      }
      return counts
    }
    for round in 0..<6 {
      try store.transaction { () throws(StoreError) in
        var rows = try store.rows(of: (0..<20).map { device($0) })
        for number in 0..<20 where (number + round) % 3 > 0 {
          var state = rows[device(number)]
          switch (number * 7 + round) % 5 {
          case 0: state.apply(.registered(at: Int64(round)))
          case 1: state.apply(.removed(at: Int64(round)))
          case 2: state.apply(mark)
          case 3: state.apply(.registered(at: 50))
          default: state = DeviceState()
          }
          rows[device(number)] = state
        }
        try store.write(rows)
      }
      let counts = try store.deviceCounts()
      #expect(try counts == counted(), "round \(round)")
      #expect(counts.registered + counts.removed + counts.invalid > 0)
    }
    try store.startOver(at: 1)
    #expect(try store.deviceCounts() == counted())
    #expect(try store.removeOldRows(after: nil, limit: 1_000).removed > 0)
    #expect(try store.deviceCounts() == DeviceCounts())
  }

  @Test(arguments: DatabaseKind.allCases)
  func `devices are read by token, and in pages by app, environment and state`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    for number in 0..<30 {
      try store.put(
        device(number, app: number % 3 == 0 ? "b" : "a"),
        number % 5 == 0 ? DeviceState(mark: mark) : DeviceState(presence: .registered(at: 1)))
    }
    try store.put(device(1, app: "b"), DeviceState(presence: .removed(at: 1)))
    let reader = try TokenStoreReader(location)
    let both = try reader.devices(token: device(1).token)
    #expect(
      both.map(\.device.app) == ["a", "b"] && both.map(\.state.word) == [.registered, .removed])
    #expect(try reader.devices(token: "none").isEmpty)
    for pageSize in [1, 4, 100] {
      var seen: [DeviceKey] = []
      let filter = DeviceFilter(app: "b", environment: .sandbox, word: .invalid)
      try reader.forEachDevice(filter, pageSize: pageSize) { known in
        seen.append(known.device)
        return true
      }
      #expect(seen == [device(0, app: "b")], "pages of \(pageSize)")
      var count = 0
      try reader.forEachDevice(DeviceFilter(), pageSize: pageSize) { _ in
        count += 1
        return count < 7
      }
      #expect(count == 7)
    }
  }
}
