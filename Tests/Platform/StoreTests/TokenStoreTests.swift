// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import TestSupport
import Testing

@testable import Store

@Suite struct TokenStoreTests {
  private let folder = TemporaryFolder()
  private let device = DeviceKey(token: "00ff", app: "com.example.app", environment: .production)

  private func open(_ location: String? = nil) throws -> TokenStore {
    try TokenStore(location ?? folder.file("tokens.db"), now: 1, busyTimeout: 50)
  }

  private func put(
    _ store: TokenStore, _ identity: DeviceKey? = nil, registered: Int64? = nil,
    invalidSince: Int64? = nil
  ) throws(StoreError) {
    try store.put(
      identity ?? device,
      DeviceState(
        presence: registered.map { .registered(at: $0) },
        mark: invalidSince.map {
          DeviceState.Mark(since: $0, aliveFrom: $0 + 1, reason: "Unregistered", recordedAt: $0 + 1)
        }))
  }

  @Test func `a new SQLite database is its owner's alone, and so is its log`() throws {
    let path = folder.file("tokens.db")
    let store = try open()
    try put(store, registered: 1)
    for file in [path, path + "-wal", path + "-shm"] {
      #expect(try FileExposure(file).mode == 0o600, "\(file)")
    }
    withExtendedLifetime(store) {}
    // One that an administrator has opened to a group stays as it is.
    try File.write(folder.file("shared.db"), [], mode: 0o640)
    _ = try open(folder.file("shared.db"))
    #expect(try FileExposure(folder.file("shared.db")).mode == 0o640)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a row is what was put, and nothing known is no row`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let mark = DeviceState.Mark(since: 5, aliveFrom: 9, reason: "Unregistered", recordedAt: 7)
    let states = [
      DeviceState(presence: .registered(at: 3)), DeviceState(presence: .removed(at: 4)),
      DeviceState(mark: mark), DeviceState(presence: .registered(at: 3), mark: mark),
      DeviceState(presence: .removed(at: 30), mark: mark),
    ]
    for state in states {
      try store.put(device, state)
      #expect(try store.device(device) == state)
    }
    try store.put(device, DeviceState())
    #expect(try store.device(device).isEmpty)
    #expect(try TokenStoreReader(location).deviceCount() == 0)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a mark that a registration refutes is no invalid token, and is found`(kind: DatabaseKind)
    throws
  {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let reader = try TokenStoreReader(location)
    try put(store, registered: 5, invalidSince: 5)
    #expect(try reader.invalidCount() == 1)
    #expect(try store.refutedMarks(after: nil, limit: 10).isEmpty)
    try put(store, registered: 6, invalidSince: 5)
    #expect(try reader.invalidCount() == 0)
    #expect(try store.refutedMarks(after: nil, limit: 10) == [device])
    #expect(try store.refutedMarks(after: device, limit: 10).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `rows are counted by state, each device once`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let none = TokenStoreReader.StateCounts(valid: 0, removed: 0, invalid: 0, suspected: 0)
    #expect(try TokenStoreReader(location).stateCounts() == none)
    func identity(_ number: Int) -> DeviceKey {
      DeviceKey(token: "0\(number)", app: "com.example.app", environment: .sandbox)
    }
    let mark = DeviceState.Mark(since: 5, aliveFrom: 6, reason: "Unregistered", recordedAt: 7)
    try put(store, identity(1), registered: 5)
    try put(store, identity(2), registered: 5, invalidSince: 5)
    try put(store, identity(3), invalidSince: 5)
    // A registration refutes the mark, whoever takes it back.
    try put(store, identity(4), registered: 6, invalidSince: 5)
    try store.put(identity(5), DeviceState(presence: .removed(at: 4)))
    try store.put(identity(6), DeviceState(presence: .removed(at: 4), mark: mark))
    try store.put(
      identity(1),
      Suspicion(firstAt: 8, lastAt: 8, lastSentAt: 8, count: 1, reason: "BadDeviceToken"))
    #expect(
      try TokenStoreReader(location).stateCounts()
        == TokenStoreReader.StateCounts(valid: 2, removed: 1, invalid: 3, suspected: 1))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `rows and positions change together or not at all, and start again together`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let position = ChangelogPosition(anchor: .init(offset: 7, timestamp: 5, keyHash: -3))
    #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        try put(store, registered: 1)
        try store.setPosition("push.devices", 2, position)
        throw StoreError(code: 13, attempt: "test", message: "full")
      }
    }
    #expect(try store.positions().isEmpty)
    try store.transaction { () throws(StoreError) in
      try put(store, registered: 1)
      try store.setPosition("push.devices", 2, position)
    }
    #expect(try store.positions() == ["push.devices": [2: position]])
    #expect(try store.followedAt() == nil && store.state() == .unfilled)
    // What no log has, and librdkafka takes for its beginning or its end.
    for offset in [Int64.min, -1_001, -2, -1, .max] {
      try store.setPosition(
        "push.devices", 2,
        ChangelogPosition(anchor: .init(offset: offset, timestamp: 5, keyHash: -3)))
      let read = try store.positions()["push.devices"]?[2]?.anchor?.offset
      #expect(read.map { (0..<Int64.max).contains($0) } == true)
    }
    try store.startOver(at: 9)
    #expect(try store.positions().isEmpty && store.followedAt() == 9)
    #expect(try store.state() == .filling(TableProgress(done: 0, total: 0)))
    #expect(try !store.device(device).isEmpty, "it stays until the topics were read")
    #expect(try store.rows(of: [device])[device].isEmpty, "of what is read it is not")
  }

  @Test func `a SQLite file of another program is refused and stays as it was`() throws {
    let path = folder.file("other.db")
    for sql in [
      "CREATE TABLE people (name TEXT)",
      "CREATE TABLE migrations (version INTEGER, name TEXT); INSERT INTO migrations VALUES (1, 'users')",
    ] {
      try? File.remove(path)
      do {
        let other = try Database(path, isReadOnly: false, busyTimeout: 50)
        try other.execute(sql)
      }
      let before = try File.read(path)
      let error = #expect(throws: StoreError.self) { try TokenStore(path, now: 1) }
      #expect(error?.description.contains("of another program; name another file") == true)
      #expect(error?.isTemporary == false)
      #expect(try File.read(path) == before)
    }
  }

  @Test func `for a damaged file there is a way without a backup, too`() {
    let error = StoreError(code: 11, attempt: "reading", message: "malformed")
    #expect(error.description.hasSuffix("-shm: the topics fill a new one") && !error.isTemporary)
  }

  @Test func `a reader of a file that nobody has made a database says so`() throws {
    try File.write(folder.file("empty.db"), [])
    let error = #expect(throws: StoreError.self) { try TokenStoreReader(folder.file("empty.db")) }
    #expect(error?.description.contains("has no tables of Martlet; name another one") == true)
  }

  @Test func `processes that start together make one database and none refuses it`() async {
    for round in 0..<40 {
      let path = folder.file("together-\(round).db")
      let failures = await withTaskGroup(of: String?.self) { group in
        for _ in 0..<3 { group.addTask { Self.failureOfOpening(path) } }
        return await group.compactMap { $0 }.reduce(into: []) { $0.append($1) }
      }
      #expect(failures == [])
    }
  }

  private static func failureOfOpening(_ path: String) -> String? {
    do throws(StoreError) {
      _ = try TokenStore(path, now: 1)
      return nil
    } catch {
      return "\(error)"
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `apps and environments are apart`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    try put(store, invalidSince: 5)
    let other = DeviceKey(token: "00ff", app: "com.example.app", environment: .sandbox)
    #expect(try store.device(other).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what was written is there after opening again, and the schema is not applied twice`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    var store: TokenStore? = try open(location)
    if let store { try put(store, registered: 10) }
    store = nil
    store = try open(location)
    #expect(try store?.device(device).registeredAt == 10)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a database of a newer program is refused`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    _ = try open(location)
    let raw = try Database(location, isReadOnly: false, busyTimeout: 50)
    try raw.execute("INSERT INTO migrations VALUES (99, 'later', 1)")
    let error = #expect(throws: StoreError.self) { try open(location) }
    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("newer program") == true)
    let reader = #expect(throws: StoreError.self) { try TokenStoreReader(location) }
    #expect(reader?.description.contains("newer program") == true)
  }

  /// It might answer that it does not know a device.
  @Test(arguments: DatabaseKind.allCases)
  func `a reader waits for the writer that brings an older database up to date`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    _ = try open(location)
    let raw = try Database(location, isReadOnly: false, busyTimeout: 50)
    try raw.execute("DELETE FROM migrations")
    let error = #expect(throws: StoreError.self) { try TokenQueries(location) }
    #expect(error?.description.contains("start the service that writes it") == true)
  }

  /// Nothing of it is changed: what is in it and on no topic any more can still be exported by the build that made it.
  @Test(arguments: DatabaseKind.allCases)
  func `a database of a build before the first release is refused`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    _ = try open(location)
    let raw = try Database(location, isReadOnly: false, busyTimeout: 50)
    try raw.execute(
      "UPDATE migrations SET name = 'devices'; INSERT INTO migrations VALUES (9, 'more', 1)")
    for attempt in [{ _ = try self.open(location) }, { _ = try TokenQueries(location) }] {
      let error = #expect(throws: StoreError.self) { try attempt() }
      #expect(error?.description.contains("a build before 0.1.0 made it") == true)
      #expect(error?.isTemporary == false)
    }
    #expect(try raw.integer("SELECT count(*) FROM migrations WHERE version = 9") == 1)
  }

  @Test func `a reader that is open refuses what a newer program has made of the tables`() throws {
    let location = try DatabaseKind.sqlite.location(in: folder)
    let store = try open(location)
    try put(store, registered: 10)
    let reader = try TokenQueries(location)
    #expect(try reader.state(device).registeredAt == 10)
    let raw = try Database(location, isReadOnly: false, busyTimeout: 50)
    try raw.execute("CREATE INDEX more ON devices (registered_at)")
    #expect(try reader.state(device).registeredAt == 10, "the version is the same")
    try raw.execute(
      "ALTER TABLE devices ADD COLUMN more INTEGER; INSERT INTO migrations VALUES (99, 'later', 1)")
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try reader.state(device) }
      #expect(error?.description.contains("newer program") == true)
    }
  }

  @Test func `a file that is no database is refused for good`() throws {
    try File.write(folder.file("tokens.db"), Array(repeating: 7, count: 5_000))
    let error = #expect(throws: StoreError.self) { try open() }
    #expect(error?.isTemporary == false)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `another writer's lock is temporary`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let other = try Database(location, isReadOnly: false, busyTimeout: 50)
    try other.transaction { () throws(StoreError) in
      let error = #expect(throws: StoreError.self) {
        try store.transaction { () throws(StoreError) in try put(store, registered: 1) }
      }
      #expect(error?.isTemporary == true)
    }
    try store.transaction { () throws(StoreError) in try put(store, registered: 1) }
    #expect(try store.device(device).registeredAt == 1)
  }

  @Test func `a full disk is temporary and loses nothing that was there`() throws {
    let store = try open()
    try put(store, registered: 1)
    let path = folder.file("tokens.db")
    // What a full disk looks like: the database is full at that many pages of 4 KiB.
    try store.database.execute("PRAGMA max_page_count = 8")
    let error = #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        for number in 0..<5_000 {
          let token = String(number, radix: 16)
          try put(store, DeviceKey(token: token, app: "a", environment: .sandbox), registered: 1)
        }
      }
    }
    #expect(error?.isTemporary == true)
    #expect(try store.device(device).registeredAt == 1)
    #expect(try TokenStoreReader(path).deviceCount() == 1)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a reader sees counts and invalid tokens beside the writer`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let reader = try TokenStoreReader(location)
    #expect(try reader.deviceCount() == 0)
    try put(store, registered: 1)
    let invalid = DeviceKey(token: "aa", app: "com.example.app", environment: .sandbox)
    try put(store, invalid, invalidSince: 5)
    #expect(try reader.deviceCount() == 2)
    #expect(try reader.invalidCount() == 1)
    #expect(
      try reader.invalidDevices()
        == [InvalidDevice(device: invalid, since: 5, reason: "Unregistered")])
    #expect(try reader.invalidDevices(limit: 0).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `invalid tokens are read in order, all of them or a page`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try open(location)
    let reader = try TokenStoreReader(location)
    func identity(_ number: Int) -> DeviceKey {
      let digits = String(number, radix: 16)
      return DeviceKey(
        token: String(repeating: "0", count: 4 - digits.count) + digits, app: "a",
        environment: number % 2 == 0 ? .production : .sandbox)
    }
    try store.transaction { () throws(StoreError) in
      for number in 0..<500 where number % 5 != 0 {
        try put(store, identity(number), invalidSince: 1)
      }
      for number in stride(from: 0, to: 500, by: 5) {
        try put(store, identity(number), registered: 1)
      }
    }
    let expected = (0..<500).filter { $0 % 5 != 0 }.map(identity)
    #expect(try reader.invalidDevices().map(\.device) == expected)
    let page = try reader.invalidDevices(after: expected[10], limit: 2).map(\.device)
    #expect(page == Array(expected[11...12]))
  }

  @Test func `an error names the file and what to do about it`() throws {
    let path = folder.file("tokens.db")
    try File.write(path, Array(repeating: 7, count: 5_000))
    let error = #expect(throws: StoreError.self) { try open() }
    #expect(error?.description.contains(path) == true)
    #expect(error?.description.contains("name another file") == true)
    let missing = #expect(throws: StoreError.self) {
      try TokenStore(folder.file("no/tokens.db"), now: 1)
    }
    #expect(missing?.description.contains("see that the folder exists") == true)
  }

  @Test func `a reader never makes a database`() {
    let error = #expect(throws: StoreError.self) { try TokenStoreReader(folder.file("none.db")) }
    #expect(error?.description.contains("none.db") == true)
    #expect(error?.description.contains("correct the path") == true)
  }
}
