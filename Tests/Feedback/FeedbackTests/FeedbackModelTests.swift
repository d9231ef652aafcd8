// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import TestSupport
import Testing
import Waiting

@testable import Feedback
@testable import Store

/// Several hosts over logs in memory, in the order that a seed chooses: owners change, processes restart, disks are
/// lost, logs are compacted, answers come again, and what an owner had in its producer arrives after the next owner's
/// records. `MARTLET_FEEDBACK_SEED=N` runs one seed more in every form.
@Suite struct FeedbackModelTests {
  private static let further =
    getenv("MARTLET_FEEDBACK_SEED").flatMap { UInt64(String(cString: $0)) }.map { [$0] } ?? []

  /// So many seeds with SQLite, and then with PostgreSQL, whose databases take longer to make.
  private static func seeds(
    _ first: UInt64, _ sqlite: UInt64, _ postgres: UInt64
  ) -> [(UInt64, DatabaseKind)] {
    var seeds: [(UInt64, DatabaseKind)] = []
    for number in 0..<sqlite { seeds.append((first + number, .sqlite)) }
    for number in 0..<postgres { seeds.append((first + sqlite + number, .postgres)) }
    for seed in further { seeds += [(seed, .sqlite), (seed, .postgres)] }
    return seeds
  }

  @Test(arguments: Array(0..<16 as Range<UInt64>) + further)
  func `whatever happens on the way`(seed: UInt64) throws { try run(seed, .sqlite) }

  @Test(arguments: Array(100..<104 as Range<UInt64>) + further)
  func `whatever happens on the way, with PostgreSQL`(seed: UInt64) throws {
    try run(seed, .postgres)
  }

  /// All processes have one database, as on one host or with one server.
  @Test(arguments: seeds(200, 8, 3))
  func `with one database for all`(seed: UInt64, kind: DatabaseKind) throws {
    try run(seed, kind, isShared: true)
  }

  /// Without removals, and with producers that withdraw what Kafka has not acknowledged, the times of registrations and
  /// answers alone decide which token is invalid.
  @Test(arguments: seeds(300, 16, 4))
  func `in the state that the times dictate`(seed: UInt64, kind: DatabaseKind) throws {
    let model = try run(seed, kind, isShared: seed % 2 == 0, isStrict: true)
    let invalid = try model.hosts[0].states().filter { $0.value.isInvalid }.map(\.key)
    #expect(Set(invalid) == model.expectedInvalid, "seed \(seed)")
  }

  @discardableResult private func run(
    _ seed: UInt64, _ kind: DatabaseKind, isShared: Bool = false, isStrict: Bool = false
  ) throws -> FeedbackModel {
    let model = try FeedbackModel(seed: seed, kind, isShared: isShared, isStrict: isStrict)
    for _ in 0..<120 { try model.step() }
    try model.settle()
    let rows = try model.hosts.map { try $0.rows() }
    #expect(rows.allSatisfy { $0 == rows[0] }, "seed \(seed)")
    for host in model.hosts {
      // With details, and the history of what it has read since its disk is there.
      #expect(try host.states() == host.memory.states, "seed \(seed)")
      var counts = DeviceCounts()
      for state in host.memory.states.values { if let word = state.word { counts[word] += 1 } }
      #expect(try host.store.deviceCounts() == counts, "seed \(seed)")
    }
    let restored = try ModelHost(kind.location(in: model.folder), model.names, ModelMemory())
    try restored.follow(model)
    #expect(try restored.rows() == rows[0], "seed \(seed): a lost disk")
    #expect(model.wrongMarks.isEmpty, "seed \(seed)")
    #expect(try restored.store.refutedMarks(after: nil, limit: 10).isEmpty, "seed \(seed)")
    return model
  }
}

/// A record of a log; compaction leaves gaps.
private struct LogRecord {
  let offset: Int64
  let key: [UInt8]
  let value: [UInt8]?
}

private struct ModelLog {
  var records: [LogRecord] = []
  var end: Int64 = 0

  mutating func append(_ key: [UInt8], _ value: [UInt8]?) {
    records.append(LogRecord(offset: end, key: key, value: value))
    end += 1
  }

  /// Keeps the last record of each key; drops tombstones below an offset.
  mutating func compact(tombstonesBelow offset: Int64) {
    var last: [[UInt8]: Int64] = [:]
    for record in records { last[record.key] = record.offset }
    records.removeAll { last[$0.key] != $0.offset || ($0.value == nil && $0.offset < offset) }
  }
}

/// What a database should have: all that was read into it, applied record by record.
private final class ModelMemory {
  var states: [DeviceKey: DeviceState] = [:]

  func apply(_ names: TopicNames, _ topic: String, _ record: LogRecord) {
    guard let device = DeviceKey(key: record.key) else { return }
    var state = states[device] ?? DeviceState()
    if topic == names.devices {
      let fact = record.value.flatMap { value in
        value.withUnsafeBytes { try? DeviceRecord($0, parser: JSONParser()) }
      }
      state.apply(fact?.presence, fact?.details ?? .none)
    } else {
      let mark = record.value.flatMap { value in
        value.withUnsafeBytes { try? InvalidTokenRecord($0, parser: JSONParser()) }
      }
      state.apply(mark?.mark)
    }
    states[device] = state.isEmpty ? nil : state
  }
}

private final class ModelHost {
  let path: String
  let memory: ModelMemory
  private let names: TopicNames
  private(set) var store: TokenStore
  private(set) var invalidator: TokenInvalidator

  init(_ path: String, _ names: TopicNames, _ memory: ModelMemory) throws {
    self.path = path
    self.names = names
    self.memory = memory
    store = try TokenStore(path, now: 1)
    invalidator = TokenInvalidator(store, names, clockSkew: 0, badTokenLimit: 100)
  }

  func next(_ topic: String) throws -> Int64 { try store.positions()[topic]?[0]?.next ?? 0 }

  /// Reads up to `limit` records of each log.
  func follow(_ model: FeedbackModel, limit: Int = .max) throws {
    for topic in [names.devices, names.invalidTokens] {
      let next = try next(topic)
      let records = model.log(topic).records.filter { $0.offset >= next }.prefix(limit)
      guard let last = records.last else { continue }
      try store.transaction { () throws(StoreError) in
        let devices = records.compactMap { DeviceKey(key: $0.key) }
        var rows = try store.rows(of: devices)
        for record in records { apply(topic, record, &rows) }
        try store.write(rows)
        let anchor = ChangelogPosition.Anchor(offset: last.offset, timestamp: -1, keyHash: 0)
        try store.setPosition(topic, 0, ChangelogPosition(anchor: anchor))
      }
      for record in records { memory.apply(names, topic, record) }
    }
  }

  private func apply(_ topic: String, _ record: LogRecord, _ rows: inout DeviceRows) {
    record.key.withUnsafeBytes { key in
      (record.value ?? [0]).withUnsafeBytes { value in
        let value = record.value == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : value
        guard let device = DeviceKey(key: key), let place = rows.place(of: device) else { return }
        _ = invalidator.follow(
          topic, at: place, key: key, value: value, timestamp: -1,
          now: WallClock.milliseconds(), &rows)
      }
    }
  }

  /// What it would publish: of these answers, and of marks that registrations refute.
  func judge(_ jobs: [Job]) throws -> [TokenInvalidator.Publication] {
    try store.transaction { () throws(StoreError) in
      var outcome = try invalidator.judge(jobs)
      _ = try invalidator.refute(after: nil, limit: 1_000, &outcome, isOwned: { _ in true })
      return outcome.publications
    }
  }

  /// All but the history, which is that of this database.
  func rows() throws -> [String] {
    let statement = try store.database.prepare(
      "SELECT * FROM devices ORDER BY token, app, environment")
    var rows: [String] = []
    while try statement.next() {
      let columns = (1..<14).map { statement.text(Int32($0)) }
      rows.append(([statement.token(0)] + columns).joined(separator: " "))
    }
    return rows
  }

  func states() throws -> [DeviceKey: DeviceState] {
    var states: [DeviceKey: DeviceState] = [:]
    try TokenStoreReader(path).forEachDevice(DeviceFilter(), pageSize: 2) { known in
      states[known.device] = known.state
      return true
    }
    return states
  }
}

private final class FeedbackModel {
  let folder = TemporaryFolder()
  let names = TopicNames()
  private(set) var hosts: [ModelHost] = []
  private var random: SeededGenerator
  private var logs: [String: ModelLog] = [:]
  private var feedback: [FeedbackRecord] = []
  private var judged = 0
  private var owner = 0
  private var lastTime: [Int: Int64] = [:]
  /// What former owners still have in their producers.
  private var late: [TokenInvalidator.Publication] = []
  private(set) var wrongMarks: [String] = []
  private let kind: DatabaseKind
  private let isShared: Bool
  private let isStrict: Bool
  /// What the times dictate, without removals.
  private var registeredAt: [DeviceKey: Int64] = [:]
  private var aliveFrom: [DeviceKey: Int64] = [:]

  init(seed: UInt64, _ kind: DatabaseKind, isShared: Bool, isStrict: Bool) throws {
    self.kind = kind
    self.isShared = isShared
    self.isStrict = isStrict
    random = SeededGenerator(seed: seed)
    for topic in [names.devices, names.invalidTokens] { logs[topic] = ModelLog() }
    try renewHosts([0, 1, 2])
  }

  /// Tokens that APNs called invalid and that were not registered since.
  var expectedInvalid: Set<DeviceKey> {
    Set(aliveFrom.filter { $0.value > registeredAt[$0.key] ?? .min }.keys)
  }

  /// Processes on new, empty disks; with a shared database on one.
  private func renewHosts(_ lost: [Int]) throws {
    if isShared {
      let (path, memory) = (try kind.location(in: folder), ModelMemory())
      hosts = try (0..<3).map { _ in try ModelHost(path, names, memory) }
      return
    }
    for index in lost {
      let host = try ModelHost(kind.location(in: folder), names, ModelMemory())
      if index < hosts.count { hosts[index] = host } else { hosts.append(host) }
    }
  }

  /// The process ends, and another one begins with the same database.
  private func restart(_ index: Int) throws {
    hosts[index] = try ModelHost(hosts[index].path, names, hosts[index].memory)
  }

  func log(_ topic: String) -> ModelLog { logs[topic]! }

  private func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  func step() throws {
    switch below(14) {
    case 0, 1, 2: produceDevice()
    case 3, 4: produceFeedback()
    case 5, 6: try hosts[below(3)].follow(self, limit: 1 + below(4))
    case 7, 8: try judge(isDropped: below(4) == 0)
    case 9: owner = below(3)
    case 10: try loseOrCompact()
    case 11: try restart(below(3))
    // The offsets of the last answers were not committed: they come again.
    case 12: judged = max(0, judged - below(3))
    default: if !late.isEmpty { publish(late.remove(at: below(late.count))) }
    }
  }

  /// A device's facts come in the order of their times, as its app produces them.
  private func produceDevice() {
    let number = below(5)
    let time = (lastTime[number] ?? 0) + Int64(below(20))
    lastTime[number] = time
    let device = FeedbackFixture.device(number)
    let details = DeviceDetails(
      user: below(2) == 0 ? nil : "user \(below(3))", locale: below(2) == 0 ? nil : "de")
    let registration = DeviceRecord(device: device, event: .registered(at: time), details: details)
    let record: DeviceRecord? =
      switch below(isStrict ? 1 : 6) {
      case 0: isStrict ? registration : nil
      case 1: DeviceRecord(device: device, event: .removed(at: time))
      default: registration
      }
    if record == registration { registeredAt[device] = time }
    logs[names.devices]?.append(device.bytes, record?.value)
  }

  private func produceFeedback() {
    let number = below(5)
    let time = max(0, (lastTime[number] ?? 0) + Int64(below(30)) - 15)
    let record = FeedbackFixture.feedback(
      FeedbackFixture.device(number), timestamp: below(3) == 0 ? nil : time, sentAt: time + 5)
    feedback.append(record)
    let valid = TokenInvalidation.earliestRevival(
      timestamp: record.timestamp, sentAt: record.sentAt)
    let device = record.device
    aliveFrom[device] = max(aliveFrom[device] ?? .min, valid)
  }

  /// The owner reads to the ends, judges, and publishes; or loses its partition before Kafka has what it publishes.
  private func judge(isDropped: Bool) throws {
    let host = hosts[owner]
    try host.follow(self)
    let jobs = feedback.dropFirst(judged).prefix(1 + below(4)).map {
      Job(partition: .init(topic: names.feedback, partition: 0), offset: 0, content: .feedback($0))
    }
    let publications = try host.judge(jobs)
    for publication in publications { check(publication) }
    guard !isDropped else {
      if !isStrict { late += publications.filter { _ in below(2) == 0 } }
      owner = below(3)
      return
    }
    judged += jobs.count
    for publication in publications { publish(publication) }
  }

  private func publish(_ publication: TokenInvalidator.Publication) {
    logs[names.invalidTokens]?.append(publication.device.bytes, publication.record?.value)
  }

  /// No mark against a registration that the topic has.
  private func check(_ publication: TokenInvalidator.Publication) {
    guard let record = publication.record else { return }
    var state = DeviceState()
    for entry in log(names.devices).records where entry.key == publication.device.bytes {
      let fact = entry.value.flatMap { value in
        value.withUnsafeBytes { try? DeviceRecord($0, parser: JSONParser()) }
      }
      state.apply(fact?.presence)
    }
    if let registered = state.registeredAt, registered >= record.aliveFrom {
      wrongMarks.append("\(publication.device)")
    }
  }

  private func loseOrCompact() throws {
    if below(3) == 0 { return try renewHosts([below(3)]) }
    for topic in [names.devices, names.invalidTokens] {
      // Tombstones live as long as a host may be behind; who is behind further starts again.
      let slowest = try hosts.map { try $0.next(topic) }.min() ?? 0
      logs[topic]?.compact(tombstonesBelow: slowest)
    }
  }

  /// Everything arrives, and the owner repairs what is left to repair.
  func settle() throws {
    for publication in late { publish(publication) }
    late = []
    while judged < feedback.count { try judge(isDropped: false) }
    try judge(isDropped: false)
    for host in hosts { try host.follow(self) }
    for topic in [names.devices, names.invalidTokens] {
      logs[topic]?.compact(tombstonesBelow: .max)
    }
  }
}
