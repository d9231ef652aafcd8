// SPDX-License-Identifier: Apache-2.0
import Contract
import Store
import TestSupport
import Testing

/// The schedule in the database, on both kinds.
@Suite struct ScheduleStoreTests {
  private let folder = TemporaryFolder()

  private static func entry(
    _ key: ExactText, due: Int64, offset: Int64 = 1, value: String = "S1\n{\"a\":\"\\\"\"}",
    isCancellation: Bool = false
  ) -> ScheduledEntry {
    ScheduledEntry(
      key: key,
      row: ScheduleRow(
        offset: offset, identity: ScheduleRow.identity(of: value.utf8),
        kind: isCancellation
          ? .cancellation(at: 5, keptUntil: due) : .request(due: due, written: 5)), value: value)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `keys of other bytes but equal text are two entries`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let (composed, decomposed): (ExactText, ExactText) = (
      "a.b:production:é", "a.b:production:e\u{301}"
    )
    let entries = [Self.entry(composed, due: 10), Self.entry(decomposed, due: 20)]
    try store.transaction { () throws(StoreError) in
      try store.put(0, entries)
      try store.setPosition(0, 1)
    }
    let found = try store.entries(0, [composed, decomposed])
    #expect(found[composed]?.row.due == 10 && found[decomposed]?.row.due == 20)
    let reader = try TokenStoreReader(location)
    #expect(try reader.scheduled(key: decomposed)?.row.due == 20)
    let page = try store.due(0, through: 100, after: 10, composed, limit: 10)
    #expect(page.map(\.key) == [decomposed])
    try store.remove(0, [composed])
    #expect(try store.entry(composed) == nil && store.entry(decomposed)?.row.due == 20)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `entries of a token are found in whatever form the request has it`(_ kind: DatabaseKind)
    throws
  {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let tokens = ["00aabb", "00AABB", "<00AA bb>", "\\u003c00aa bb\\u003e", "00aabc", "00 aabc"]
    let entries = tokens.enumerated().map { number, token in
      Self.entry(
        "a.b:production:\(number)", due: 10, value: "S1\n{\"token\":\"\(token)\",\"x\":\"a b\"}")
    }
    try store.transaction { () throws(StoreError) in
      try store.put(0, entries)
      try store.setPosition(0, 1)
    }
    func found(_ user: ExactText, _ tokens: Set<ExactText>) throws -> [ExactText] {
      var keys: [ExactText] = []
      try ScheduleQueries(location).forEachEntry(naming: user, tokens) { entry in
        keys.append(entry.key)
        return true
      }
      return keys
    }
    #expect(try found("nobody", ["00aabb"]) == entries[..<4].map(\.key))
    #expect(try found("a b", []).count == 6)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `campaigns of some apps are looked up by whole names`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let keys: [ExactText] = [
      "campaign:a:com.a:production", "campaign:b:com.a:sandbox", "campaign:c:com.a.b:production",
      "campaign:d:xcom.a:production", "campaign:com.a:com.b:production",
    ]
    let row = ScheduleRow(offset: 1, identity: 0, kind: .campaign(revision: 1))
    try store.transaction { () throws(StoreError) in
      try store.put(0, keys.map { ScheduledEntry(key: $0, row: row, value: "M1\n{}") })
      try store.setPosition(0, 5)
    }
    let queries = try ScheduleQueries(location)
    func found(_ apps: Set<ExactText>?, after: String = "", limit: Int = 10) throws -> [ExactText] {
      try queries.campaigns(after: after, limit: limit, apps: apps).map(\.key)
    }
    #expect(try found(nil) == keys.sorted { $0.text < $1.text })
    #expect(try store.campaigns(0).map(\.row.kind) == keys.map { _ in row.kind })
    #expect(try found(["com.a"]) == [keys[0], keys[1]])
    #expect(try found(["com.a"], after: keys[0].text) == [keys[1]])
    #expect(try found(["com.a.b", "com.b"]) == [keys[2], keys[4]])
    #expect(try found(["com.a.b", "com.b"], limit: 1) == [keys[2]])
    #expect(try found(["com", "a", "sandbox", "%"]).isEmpty && found([]).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `all campaigns are read, however many there are`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let row = ScheduleRow(offset: 1, identity: 0, kind: .campaign(revision: 1))
    let count = 10_001
    let entries = (0..<count).map { number in
      ScheduledEntry(key: "campaign:c\(number):a.b:production".exact, row: row, value: "M1\n{}")
    }
    try store.transaction { () throws(StoreError) in
      try store.put(0, entries)
      try store.setPosition(0, 5)
    }
    let keys = try TokenStoreReader(location).campaigns().map(\.key)
    #expect(keys.count == count && Set(keys).count == count)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what was handed back is found by the time at which it was read`(_ kind: DatabaseKind) throws
  {
    let store = try ScheduleStore(TokenStore(kind.location(in: folder), now: 0))
    let value = "S1\t7\t1\t2\t\n{}"
    let row = ScheduleRow(
      offset: 1, identity: ScheduleRow.identity(of: value.utf8),
      kind: .handedBack(due: 7, Requeue(written: 1, at: 2), read: 30))
    let entry = ScheduledEntry(key: "a.b:production:x", row: row, value: value)
    try store.put(0, [entry])
    #expect(try store.handedBack(0, after: 29) == [entry])
    #expect(try store.handedBack(0, after: 30).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `the requests of all partitions are listed in the order of their times`(
    _ kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    // More of one partition than are read at once.
    let count = 10_050
    let entries = (0..<count).map { Self.entry("a.b:production:\($0)", due: Int64($0 % 100)) }
    try store.transaction { () throws(StoreError) in
      try store.put(0, Array(entries[..<10_020]))
      try store.put(7, Array(entries[10_020...]))
      for partition in [0, 7] as [Int32] { try store.setPosition(partition, 1) }
    }
    var listed: [ScheduledEntry] = []
    let reader = try TokenStoreReader(location)
    try reader.forEachScheduled(withPrefix: "a.b:") { entry in
      listed.append(entry)
      return true
    }
    let sorted = entries.sorted { ($0.row.due, $0.key) < ($1.row.due, $1.key) }
    #expect(listed.map(\.key) == sorted.map(\.key))
    var first: [ExactText] = []
    try reader.forEachScheduled(withPrefix: "") { entry in
      first.append(entry.key)
      return first.count < 3
    }
    #expect(first == sorted.prefix(3).map(\.key))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `entries are put, replaced, removed, and read in the order of their times`(
    _ kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try ScheduleStore(TokenStore(location, now: 0))
    let entries = [
      Self.entry("a.b:production:ü,\"{}", due: 30), Self.entry("a.b:production:y", due: 10),
      Self.entry("c.d:sandbox:z", due: 10),
      Self.entry("c.d:sandbox:c", due: 20, isCancellation: true),
    ]
    try store.transaction { () throws(StoreError) in
      try store.put(3, entries)
      try store.put(4, [Self.entry("other", due: 1)])
      try store.setPosition(3, 17)
    }
    let found = try store.entries(3, entries.map(\.key) + ["none"])
    #expect(found.count == 4 && entries.allSatisfy { found[$0.key] == $0 })
    let due = try store.due(3, through: 25, after: .min, "", limit: 10)
    #expect(due.map(\.key) == ["a.b:production:y", "c.d:sandbox:z", "c.d:sandbox:c"])
    let rest = try store.due(3, through: 100, after: 10, "a.b:production:y", limit: 2)
    #expect(rest.map(\.key) == ["c.d:sandbox:z", "c.d:sandbox:c"])
    #expect(try store.count([3]) == 3 && store.count([3, 4]) == 4 && store.count([]) == 0)
    try store.put(3, [Self.entry("a.b:production:y", due: 40, offset: 2)])
    #expect(try store.entries(3, ["a.b:production:y"])["a.b:production:y"]?.row.due == 40)
    try store.remove(3, ["a.b:production:y"])
    #expect(try store.entries(3, ["a.b:production:y"]).isEmpty)
    #expect(try store.position(3) == 17 && store.position(4) == nil)

    #expect(try store.entry("c.d:sandbox:z")?.row.due == 10 && store.entry("none") == nil)
    let reader = try TokenStoreReader(location)
    var listed: [ExactText] = []
    try reader.forEachScheduled(withPrefix: "c.d:sandbox:") { entry in
      listed.append(entry.key)
      return true
    }
    #expect(listed == ["c.d:sandbox:z"])
    #expect(try reader.scheduledCount() == 3)
    #expect(try reader.scheduled(key: "c.d:sandbox:c")?.row.isCancellation == true)
    #expect(try reader.scheduled(key: "none") == nil)

    try store.startOver(3)
    #expect(try store.position(3) == 0 && store.count([3]) == 0 && store.count([4]) == 1)
    let queries = try ScheduleQueries(location)
    #expect(try queries.obstacle()?.contains("1 partitions") == true)
    #expect(throws: StoreError.self) {
      try reader.whileScheduleIsComplete { () throws(StoreError) in try reader.scheduledCount() }
    }
    try store.setComplete(3)
    #expect(try queries.obstacle() == nil)
    let count = try reader.whileScheduleIsComplete { () throws(StoreError) in
      try reader.scheduledCount()
    }
    #expect(count == 1)
  }

  @Test func `of a database that no scheduler keeps nothing is said about the schedule`() throws {
    let location = folder.file("tokens.db")
    let store = try TokenStore(location, now: 1)
    defer { withExtendedLifetime(store) {} }
    let reader = try TokenStoreReader(location)
    let error = #expect(throws: StoreError.self) {
      try reader.whileScheduleIsComplete { () throws(StoreError) in try reader.scheduledCount() }
    }
    #expect(error?.description.contains("name the database that it keeps") == true)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a page ends with the entry that reaches its bytes`(kind: DatabaseKind) throws {
    let store = try ScheduleStore(TokenStore(try kind.location(in: folder), now: 1))
    let value = "S1\n" + String(repeating: "x", count: 1_000)
    let keys: [ExactText] = ["a.b:production:a", "a.b:production:b", "a.b:production:c"]
    try store.put(3, keys.map { Self.entry($0, due: 40, value: value) })
    func page(after key: ExactText, bytes: Int) throws -> [ExactText] {
      try store.due(3, through: 100, after: 40, key, limit: 10, bytes: bytes).map(\.key)
    }
    #expect(try page(after: "", bytes: 1) == [keys[0]])
    #expect(try page(after: "", bytes: 1_500) == Array(keys[..<2]))
    #expect(try page(after: keys[1], bytes: 1_500) == [keys[2]])
    #expect(try page(after: "", bytes: .max) == keys)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what a new topic does not have stays until it was written there`(kind: DatabaseKind) throws
  {
    let store = try ScheduleStore(TokenStore(try kind.location(in: folder), now: 1))
    try store.put(3, [Self.entry("a.b:production:x", due: 40, offset: 7)])
    try store.put(3, [Self.entry("a.b:production:y", due: 40, offset: 8)])
    try store.put(4, [Self.entry("a.b:production:z", due: 40, offset: 8)])
    try store.setPosition(3, 9)
    try store.renew(3)
    #expect(try store.position(3) == 0)
    #expect(try store.unwritten(3, after: "", limit: 1).map(\.key) == ["a.b:production:x"])
    #expect(
      try store.unwritten(3, after: "a.b:production:x", limit: 9).map(\.key)
        == ["a.b:production:y"])
    #expect(try store.unwritten(4, after: "", limit: 9).isEmpty)
    // Nothing of it is released from where it was.
    #expect(try store.due(3, through: 100, after: .min, "", limit: 9).isEmpty)
    let all = try store.due(3, through: 100, after: .min, "", limit: 9, areAllMeant: true)
    #expect(all.count == 2)
    // One was written and read back; then the partition is begun again.
    try store.put(3, [Self.entry("a.b:production:x", due: 40, offset: 0)])
    try store.startOver(3)
    #expect(try store.unwritten(3, after: "", limit: 9).map(\.key) == ["a.b:production:y"])
    #expect(try store.entryCount(3) == 1)
    // The new topic has it in another partition, and has no partition 3.
    try store.put(4, [Self.entry("a.b:production:y", due: 40, offset: 9)])
    try store.setPosition(4, 10)
    try store.forget(3)
    #expect(try store.partitions() == [3, 4], "something of it is left")
    #expect(try store.positions() == [3: 0, 4: 10])
    try store.removeUnwritten(3, "a.b:production:y")
    try store.removeUnwritten(4, "a.b:production:y")
    try store.forget(3)
    #expect(try store.partitions() == [4] && store.entryCount(3) == 0)
    #expect(try store.entryCount(4) == 2, "what was read stays")
  }
}
