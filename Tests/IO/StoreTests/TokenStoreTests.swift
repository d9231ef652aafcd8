// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import TestSupport
import Testing

@testable import Store

@Suite struct TokenStoreTests {
  private let folder = TemporaryFolder()
  private let device = DeviceIdentity(
    token: "00ff", app: "com.example.app", environment: .production)

  private func open() throws -> TokenStore {
    try TokenStore(path: folder.file("tokens.db"), now: 1, busyTimeout: 50)
  }

  private func invalidate(_ store: TokenStore, since: Int64, limit: Int64? = nil) throws {
    try store.invalidate(
      device, since: since, reason: "Unregistered", recordedAt: since + 1,
      aliveFrom: (limit ?? since) + 1)
  }

  @Test func `a token is dead only if it was not registered later`() throws {
    let store = try open()
    try store.register(device, at: 100)
    try invalidate(store, since: 99)
    #expect(try store.device(device)?.invalidSince == nil)
    try invalidate(store, since: 100)
    #expect(try store.device(device)?.invalidSince == 100)
    #expect(try store.device(device)?.invalidReason == "Unregistered")
    #expect(try store.device(device)?.recordedAt == 101)
  }

  @Test func `a later registration makes a dead token live again and says so on a repetition`()
    throws
  {
    let store = try open()
    try invalidate(store, since: 100)
    try store.register(device, at: 100)
    #expect(try store.device(device)?.invalidSince == 100)
    try store.register(device, at: 101)
    let revived = try #require(try store.device(device))
    #expect(revived.invalidSince == nil)
    #expect(revived.revivedAt == 101)
    try store.register(device, at: 101)
    #expect(try store.device(device) == revived)
    try store.register(device, at: 500)
    #expect(try store.device(device)?.revivedAt == 101)
  }

  @Test func `a suspicion counts once each and never makes a token dead`() throws {
    let store = try open()
    for time in [5, 5, 7, 6] as [Int64] {
      try store.suspect(device, reason: "BadDeviceToken", at: time)
    }
    let suspected = try #require(try store.device(device))
    #expect(suspected.suspicions == 2)
    #expect(suspected.invalidSince == nil)
    try store.register(device, at: 8)
    #expect(try store.device(device)?.suspicions == 0)
    try store.suspect(device, reason: "BadDeviceToken", at: 8)
    #expect(try store.device(device)?.suspicions == 0, "older than the registration")
  }

  @Test func `a removal counts unless a registration is newer`() throws {
    let store = try open()
    try store.register(device, at: 10)
    try store.remove(device, at: 9)
    #expect(try store.device(device)?.removedAt == nil)
    try store.remove(device, at: 11)
    #expect(try store.device(device)?.removedAt == 11)
    try store.register(device, at: 12)
    #expect(try store.device(device)?.removedAt == nil)
  }

  @Test func `apps and environments are apart`() throws {
    let store = try open()
    try invalidate(store, since: 5)
    let other = DeviceIdentity(token: "00ff", app: "com.example.app", environment: .sandbox)
    #expect(try store.device(other) == nil)
  }

  /// Records come in any order and more than once, and what is known in the end is the same.
  @Test(arguments: 0..<30 as Range<UInt64>)
  func `the order and repetition of records does not matter`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try TokenStore(path: folder.file("\(seed).db"), now: 1)
    let registrations = (0..<3).map { _ in Int64(random.next() % 50) * 2 }
    let deaths = (0..<3).map { _ in Int64(random.next() % 50) * 2 + 1 }
    var events = registrations.map { ($0, true) } + deaths.map { ($0, false) }
    events += events
    events.shuffle(using: &random)
    for (time, isRegistration) in events {
      if isRegistration {
        try store.register(device, at: time)
      } else {
        try invalidate(store, since: time)
      }
    }
    let newest = (registrations.max() ?? 0, deaths.max() ?? 0)
    let end = try store.device(device)
    #expect(end?.registeredAt == newest.0, "seed \(seed)")
    #expect(end?.invalidSince == (newest.1 > newest.0 ? newest.1 : nil), "seed \(seed)")
  }

  @Test func `a transaction that fails leaves nothing behind`() throws {
    let store = try open()
    #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        try store.register(device, at: 10)
        throw StoreError(code: 13, attempt: "test", message: "full")
      }
    }
    #expect(try store.device(device) == nil)
    try store.transaction { () throws(StoreError) in try store.register(device, at: 11) }
    #expect(try store.device(device)?.registeredAt == 11)
  }

  @Test func `what was written is there after opening again, and the schema is not applied twice`()
    throws
  {
    var store: TokenStore? = try open()
    try store?.register(device, at: 10)
    store = nil
    store = try open()
    #expect(try store?.device(device)?.registeredAt == 10)
  }

  @Test func `a database of a newer program is refused`() throws {
    _ = try open()
    let raw = try Database(path: folder.file("tokens.db"), isReadOnly: false, busyTimeout: 50)
    try raw.execute("INSERT INTO migrations VALUES (99, 'later', 1)")
    let error = #expect(throws: StoreError.self) { try open() }
    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("newer program") == true)
  }

  @Test func `a file that is no database is refused for good`() throws {
    try File.write(folder.file("tokens.db"), Array(repeating: 7, count: 5_000))
    let error = #expect(throws: StoreError.self) { try open() }
    #expect(error?.isTemporary == false)
  }

  @Test func `another writer's lock is temporary`() throws {
    let store = try open()
    let other = try Database(path: folder.file("tokens.db"), isReadOnly: false, busyTimeout: 50)
    try other.execute("BEGIN IMMEDIATE")
    let error = #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in try store.register(device, at: 1) }
    }
    #expect(error?.isTemporary == true)
    try other.execute("ROLLBACK")
    try store.transaction { () throws(StoreError) in try store.register(device, at: 1) }
    #expect(try store.device(device)?.registeredAt == 1)
  }

  @Test func `a full disk is temporary and loses nothing that was there`() throws {
    let store = try open()
    try store.register(device, at: 1)
    let path = folder.file("tokens.db")
    try store.limitPages(to: 8)
    let error = #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        for number in 0..<5_000 {
          let token = String(number, radix: 16)
          try store.register(
            DeviceIdentity(token: token, app: "a", environment: .sandbox), at: 1)
        }
      }
    }
    #expect(error?.isTemporary == true)
    #expect(try store.device(device)?.registeredAt == 1)
    #expect(try TokenStoreReader(path: path).deviceCount() == 1)
  }

  @Test func `a reader sees counts and dead tokens beside the writer`() throws {
    let store = try open()
    let reader = try TokenStoreReader(path: folder.file("tokens.db"))
    #expect(try reader.deviceCount() == 0)
    try store.register(device, at: 1)
    let dead = DeviceIdentity(token: "aa", app: "com.example.app", environment: .sandbox)
    try store.invalidate(
      dead, since: 5, reason: "ExpiredToken", recordedAt: 6, aliveFrom: 6)
    #expect(try reader.deviceCount() == 2)
    #expect(try reader.invalidCount() == 1)
    #expect(
      try reader.invalidDevices()
        == [InvalidDevice(device: dead, since: 5, reason: "ExpiredToken")])
    #expect(try reader.invalidDevices(limit: 0).isEmpty)
  }

  @Test func `dead tokens are read in pages, each once and in order, while others are written`()
    throws
  {
    let store = try open()
    let reader = try TokenStoreReader(path: folder.file("tokens.db"))
    func identity(_ number: Int) -> DeviceIdentity {
      let digits = String(number, radix: 16)
      return DeviceIdentity(
        token: String(repeating: "0", count: 4 - digits.count) + digits, app: "a",
        environment: number % 2 == 0 ? .production : .sandbox)
    }
    try store.transaction { () throws(StoreError) in
      for number in 0..<500 where number % 5 != 0 {
        try store.invalidate(
          identity(number), since: 1, reason: "Unregistered", recordedAt: 1, aliveFrom: 2)
      }
      for number in stride(from: 0, to: 500, by: 5) { try store.register(identity(number), at: 1) }
    }
    let expected = (0..<500).filter { $0 % 5 != 0 }.map(identity)
    for pageSize in [1, 7, 400, 1_000] {
      var seen: [DeviceIdentity] = []
      try reader.forEachInvalidDevice(pageSize: pageSize) { device in
        seen.append(device.device)
        return true
      }
      #expect(seen == expected, "pages of \(pageSize)")
    }
    var count = 0
    try reader.forEachInvalidDevice(pageSize: 3) { _ in
      count += 1
      return count < 5
    }
    #expect(count == 5)
    let page = try reader.invalidDevices(after: expected[10], limit: 2).map(\.device)
    #expect(page == Array(expected[11...12]))
  }

  @Test func `a database of the first schema is brought up to date, and its dead tokens can live`()
    throws
  {
    let path = folder.file("old.db")
    do {
      let old = try Database(path: path, isReadOnly: false, busyTimeout: 50)
      try old.execute(
        "CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL,"
          + " applied_at INTEGER NOT NULL) STRICT")
      try old.execute(Migrations.steps[0].sql)
      try old.execute("INSERT INTO migrations VALUES (1, 'devices', 1)")
      try old.execute(
        "INSERT INTO devices (token, app, environment, invalid_since, invalid_reason)"
          + " VALUES ('00ff', 'com.example.app', 'production', 100, 'Unregistered')")
    }
    let store = try TokenStore(path: path, now: 2)
    #expect(try store.device(device)?.invalidSince == 100)
    try store.register(device, at: 100)
    #expect(try store.device(device)?.invalidSince == 100)
    try store.register(device, at: 101)
    #expect(try store.device(device)?.invalidSince == nil)
  }

  @Test func `an error names the file and what to do about it`() throws {
    let path = folder.file("tokens.db")
    try File.write(path, Array(repeating: 7, count: 5_000))
    let error = #expect(throws: StoreError.self) { try open() }
    #expect(error?.description.contains(path) == true)
    #expect(error?.description.contains("name another file") == true)
    let missing = #expect(throws: StoreError.self) {
      try TokenStore(path: folder.file("no/tokens.db"), now: 1)
    }
    #expect(missing?.description.contains("see that the folder exists") == true)
  }

  @Test func `a reader never makes a database`() {
    let error = #expect(throws: StoreError.self) {
      try TokenStoreReader(path: folder.file("none.db"))
    }
    #expect(error?.description.contains("none.db") == true)
  }
}
