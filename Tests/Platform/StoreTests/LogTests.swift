// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import TestSupport
import Testing

@testable import Store

/// SQLite's write-ahead log: what makes it grow, when it is cut, and what is left in the files then.
@Suite struct LogTests {
  private let folder = TemporaryFolder()

  private func device(_ number: Int) -> DeviceKey {
    DeviceKey(token: String(number + 0x1000, radix: 16), app: "a", environment: .sandbox)
  }

  private func put(_ store: TokenStore, _ numbers: Range<Int>, user: String) throws {
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: numbers.map(device))
      for number in numbers {
        rows[device(number)] = DeviceState(
          presence: .registered(at: 5), details: DeviceDetails(user: user))
      }
      try store.write(rows)
    }
  }

  /// The files of the database that have these bytes.
  private func filesWith(_ text: String) -> [String] {
    ["", "-wal"].filter { suffix in
      (try? File.text(folder.file("tokens.db" + suffix)))?.contains(text) == true
    }
  }

  @Test func `a reader keeps the log, and it is cut when that is gone`() throws {
    let store = try TokenStore(folder.file("tokens.db"), now: 1)
    try put(store, 0..<2_000, user: "ann")
    let reader = try Database(folder.file("tokens.db"), isReadOnly: true, busyTimeout: 1_000)
    let open = try reader.prepare("SELECT token FROM devices")
    #expect(try open.next())
    for _ in 0..<20 { try put(store, 0..<2_000, user: "bob\(Int.random(in: 0..<1_000_000))") }
    let long = try #require(store.logBytes)
    #expect(long > 1_000_000)
    #expect(try !store.cutLog())
    #expect(store.logBytes == long)
    open.reset()
    #expect(try store.cutLog())
    #expect(store.logBytes == 0)
    #expect(try store.deviceCounts().registered == 2_000)
    // The timeout for other statements is what it was.
    let lock = try TokenStoreLock(path: folder.file("tokens.db"))
    #expect(try !store.cutLog())
    lock.release()
  }

  @Test func `nothing of what was deleted or replaced is left in the files`() throws {
    let store = try TokenStore(folder.file("tokens.db"), now: 1)
    for number in 0..<30 {
      try put(store, number * 100..<number * 100 + 100, user: "user-\(number)")
    }
    let name = "Ann-Example-of-Nowhere"
    try put(store, 500..<1_200, user: name)
    _ = try store.cutLog()
    #expect(filesWith(name) == [""])
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: (500..<1_200).map(device))
      for number in 500..<1_200 {
        rows[device(number)] =
          number % 2 == 0 ? DeviceState() : DeviceState(presence: .removed(at: 9))
      }
      try store.write(rows)
    }
    #expect(!filesWith(name).isEmpty, "the log has it until it is cut")
    #expect(try store.cutLog())
    #expect(filesWith(name) == [])
    let tag = "a-tag-of-the-schedule"
    let schedule = try ScheduleStore(store)
    try schedule.put(
      0,
      [
        ScheduledEntry(
          key: "a:production:x",
          row: .init(offset: 1, identity: 1, kind: .request(due: 2, written: 1)), value: tag)
      ])
    try schedule.remove(0, ["a:production:x"])
    #expect(try schedule.cutLog())
    #expect(filesWith(tag) == [])
  }

  @Test
  func `what a process that was killed left in the log is not there after the next start`() throws {
    let name = "Ann-Example-of-Nowhere"
    let reader: Database
    do {
      let store = try TokenStore(folder.file("tokens.db"), now: 1)
      try put(store, 0..<100, user: name)
      reader = try Database(folder.file("tokens.db"), isReadOnly: true, busyTimeout: 1_000)
      #expect(try reader.integer("SELECT count(*) FROM devices") == 100)
      try put(store, 0..<100, user: "x")
    }
    // The reader's connection has kept the log from going with the writer's.
    #expect(filesWith(name).contains("-wal"))
    let again = try TokenStore(folder.file("tokens.db"), now: 2)
    #expect(again.logBytes == 0)
    #expect(filesWith(name) == [])
    withExtendedLifetime(reader) {}
  }

  @Test func `PostgreSQL has a log of its own`() throws {
    let store = try TokenStore(try DatabaseKind.postgres.location(in: folder), now: 1)
    #expect(store.logBytes == nil)
    #expect(try store.cutLog())
  }
}
