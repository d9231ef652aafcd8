// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import JSON
import Kafka
import Pipeline
import Random
import Records
import TestSupport
import Testing

@testable import Feedback
@testable import Store

/// Several hosts over logs in memory, in the order that a seed chooses: owners change, disks are lost, logs are
/// compacted, and what an owner had in its producer arrives after the next owner's records.
@Suite("Feedback: every host ends in the same rows") struct FeedbackModelTests {
  @Test(arguments: 0..<16 as Range<UInt64>)
  func `whatever happens on the way`(seed: UInt64) throws { try run(seed, .sqlite) }

  @Test(arguments: 100..<104 as Range<UInt64>)
  func `whatever happens on the way, with PostgreSQL`(seed: UInt64) throws {
    try run(seed, .postgres)
  }

  private func run(_ seed: UInt64, _ kind: DatabaseKind) throws {
    let model = try FeedbackModel(seed: seed, kind)
    for _ in 0..<120 { try model.step() }
    try model.settle()
    let rows = try model.hosts.map { try $0.rows() }
    #expect(rows.allSatisfy { $0 == rows[0] }, "seed \(seed)")
    let restored = try ModelHost(kind.location(in: model.folder), model.names)
    try restored.follow(model)
    #expect(try restored.rows() == rows[0], "seed \(seed): a lost disk")
    #expect(model.wrongMarks.isEmpty, "seed \(seed)")
    #expect(try restored.store.refutedMarks(after: nil, limit: 10).isEmpty, "seed \(seed)")
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
    records.removeAll {
      last[$0.key] != $0.offset || ($0.value == nil && $0.offset < offset)
    }
  }
}

private final class ModelHost {
  let path: String
  private let names: TopicNames
  private(set) var store: TokenStore
  private(set) var invalidator: TokenInvalidator

  init(_ path: String, _ names: TopicNames) throws {
    self.path = path
    self.names = names
    store = try TokenStore(path, now: 1)
    invalidator = TokenInvalidator(store, names, clockSkew: 0, badTokenLimit: 100)
  }

  func next(_ topic: String) throws -> Int64 {
    try store.positions()[topic]?[0]?.next ?? 0
  }

  /// Reads up to `limit` records of each log.
  func follow(_ model: FeedbackModel, limit: Int = .max) throws {
    for topic in [names.devices, names.invalidTokens] {
      let next = try next(topic)
      let records = model.log(topic).records.filter { $0.offset >= next }.prefix(limit)
      guard let last = records.last else { continue }
      try store.transaction { () throws(StoreError) in
        let devices = records.compactMap { DeviceKey(key: $0.key)?.identity }
        var rows = try store.rows(of: Set(devices))
        for record in records { apply(topic, record, &rows) }
        try store.write(rows)
        let anchor = ChangelogPosition.Anchor(offset: last.offset, timestamp: -1, keyHash: 0)
        try store.setPosition(topic, 0, ChangelogPosition(anchor: anchor))
      }
    }
  }

  private func apply(_ topic: String, _ record: LogRecord, _ rows: inout DeviceRows) {
    record.key.withUnsafeBytes { key in
      (record.value ?? [0]).withUnsafeBytes { value in
        let value = record.value == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : value
        _ = invalidator.follow(topic, key: key, value: value, timestamp: -1, &rows)
      }
    }
  }

  /// What it would publish: of these answers, and of marks that registrations refute.
  func judge(_ jobs: [Job]) throws -> [TokenInvalidator.Publication] {
    try store.transaction { () throws(StoreError) in
      var outcome = try invalidator.judge(jobs)
      _ = try invalidator.refute(after: nil, limit: 1_000, &outcome, isMine: { _ in true })
      return outcome.publications
    }
  }

  func rows() throws -> [String] {
    let statement = try store.database.prepare(
      "SELECT * FROM devices ORDER BY token, app, environment")
    var rows: [String] = []
    while try statement.next() {
      rows.append((0..<9).map { "\(statement.text(Int32($0)))" }.joined(separator: " "))
    }
    return rows
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

  init(seed: UInt64, _ kind: DatabaseKind) throws {
    self.kind = kind
    random = SeededGenerator(seed: seed)
    for topic in [names.devices, names.invalidTokens] { logs[topic] = ModelLog() }
    for _ in 0..<3 { hosts.append(try newHost()) }
  }

  func log(_ topic: String) -> ModelLog { logs[topic]! }

  private func newHost() throws -> ModelHost {
    try ModelHost(kind.location(in: folder), names)
  }

  private func below(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }

  func step() throws {
    switch below(12) {
    case 0, 1, 2: produceDevice()
    case 3, 4: produceFeedback()
    case 5, 6: try hosts[below(3)].follow(self, limit: 1 + below(4))
    case 7, 8: try judge(isDropped: below(4) == 0)
    case 9: owner = below(3)
    case 10: try loseOrCompact()
    default: if !late.isEmpty { publish(late.remove(at: below(late.count))) }
    }
  }

  /// A device's facts come in the order of their times, as its app produces them.
  private func produceDevice() {
    let number = below(5)
    let time = (lastTime[number] ?? 0) + Int64(below(20))
    lastTime[number] = time
    let device = FeedbackFixture.device(number)
    let record: DeviceRecord? =
      switch below(6) {
      case 0: nil
      case 1: DeviceRecord(device: device, event: .removed(at: time))
      default: DeviceRecord(device: device, event: .registered(at: time))
      }
    logs[names.devices]?.append(device.bytes, record?.value)
  }

  private func produceFeedback() {
    let number = below(5)
    let time = max(0, (lastTime[number] ?? 0) + Int64(below(30)) - 15)
    feedback.append(
      FeedbackFixture.feedback(
        FeedbackFixture.device(number), timestamp: below(3) == 0 ? nil : time, sentAt: time + 5))
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
      late += publications.filter { _ in below(2) == 0 }
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
    if below(3) == 0 {
      hosts[below(3)] = try newHost()
      return
    }
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
