// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka
import Records
import ServiceKit
import Store

/// One record of the schedule, copied so that Kafka's memory is free while the record waits for the database.
struct ScheduleJob {
  let source: Source
  let offset: Int64
  let key: ExactText
  let change: ScheduleChange
  /// The record's value; empty for a tombstone.
  let value: String
  /// The dead letter of an unreadable record.
  var refused: UnreadableRecord?
}

/// Records that were read and are not in the database yet.
struct ScheduleBatch {
  /// What was read of one partition.
  struct Share {
    let partition: Int32
    /// In the order in which they were read.
    var jobs: [ScheduleJob] = []
    /// The next offset to read.
    var position: Int64
    /// Whether it has only tombstones.
    var isOfEnds = true
  }

  /// Those of the partitions that have advanced.
  private(set) var shares: [Share] = []
  /// The share of the last record: the next one is mostly of the same partition.
  private var last = 0
  /// The end offsets of partitions that were read to their ends.
  var ends: [(source: Source, offset: Int64)] = []
  /// What it changes, while it is not known whether the database took that: one for each share, which must not grow then.
  var unanswered: [ScheduleOutcome]?
  var isEmpty: Bool { shares.isEmpty }
  /// The number of records.
  private(set) var count = 0
  /// When its first record was read, in monotonic milliseconds.
  private var began: UInt64 = 0
  /// The number of tombstones worth a transaction, which writes a database page once for all of them, and how long to
  /// wait for that many, in milliseconds.
  private static let manyEnds = 20
  private static let endsWait: UInt64 = 200

  /// Marks the time of the first record.
  mutating func begin(now: UInt64) { if isEmpty { began = now } }

  /// Whether it is time to write the batch to the database.
  ///
  /// - Parameter capacity: the most records that it may have.
  func isDue(now: UInt64, capacity: Int) -> Bool {
    // Tombstones are not urgent.
    let mayWait = (Self.manyEnds..<capacity).contains(count) && shares.allSatisfy { $0.isOfEnds }
    return !mayWait || now >= began + Self.endsWait
  }

  /// Whether the batch changes anything in the database, given the positions that it has.
  func changes(_ known: [Int32: Int64]) -> Bool {
    shares.contains { !$0.jobs.isEmpty || known[$0.partition] ?? -1 < $0.position }
  }

  /// Whether the database took the batch, though its answer was lost: then it has its positions.
  ///
  /// - Parameters:
  ///   - stored: the positions that the database has.
  ///   - known: those that it had before.
  func isTaken(_ stored: [Int32: Int64], over known: [Int32: Int64]) -> Bool {
    func target(_ share: Share) -> Int64 { max(share.position, known[share.partition] ?? 0) }
    // Positions that stay as they were tell nothing.
    return unanswered != nil && shares.allSatisfy { stored[$0.partition] == target($0) }
      && shares.contains { known[$0.partition] != target($0) }
  }

  mutating func take(_ job: ScheduleJob) {
    count += 1
    move(job.source.partition, to: job.offset + 1)
    if case .end = job.change {} else { shares[last].isOfEnds = false }
    shares[last].jobs.append(job)
  }

  mutating func move(_ partition: Int32, to position: Int64) {
    if last >= shares.count || shares[last].partition != partition {
      last = shares.firstIndex { $0.partition == partition } ?? shares.count
    }
    if last == shares.count { shares.append(Share(partition: partition, position: position)) }
    shares[last].position = max(position, shares[last].position)
  }
}

extension ScheduleJob {
  /// Reads a record.
  ///
  /// - Parameters:
  ///   - topics: the topics of device tokens that campaigns may use.
  ///   - now: milliseconds since the epoch.
  ///   - isCaughtUp: whether its partition has been read to the end before.
  init(
    _ record: KafkaRecord, _ source: Source, _ topics: AudienceTopics, now: Int64, isCaughtUp: Bool
  ) throws(RecordError) {
    guard record.value.baseAddress == nil else {
      try self.init(
        record.key, record.value, source, record.offset, topics, now: now, isCaughtUp: isCaughtUp)
      return
    }
    let header = record.header(named: ScheduleRecord.endsHeader)
    // A key of any form: the tombstone of an unreadable record.
    self.init(
      source: source, offset: record.offset, key: String(decoding: record.key, as: UTF8.self).exact,
      change: .end(of: header.flatMap { Int64(String(decoding: $0, as: UTF8.self)) }), value: "")
  }

  /// The most bytes of a key. PostgreSQL refuses rows whose indexed columns take more than a third of a page.
  static let longestKey = 2_000

  /// Reads a record with a value from its key and value.
  init(
    _ recordKey: UnsafeRawBufferPointer, _ content: UnsafeRawBufferPointer, _ source: Source,
    _ offset: Int64, _ topics: AudienceTopics, now: Int64, isCaughtUp: Bool
  ) throws(RecordError) {
    self.source = source
    self.offset = offset
    let keyText = String(validating: recordKey, as: UTF8.self)
    let isCampaign = keyText.flatMap { CampaignKey($0) } != nil
    guard let key = keyText?.exact, isCampaign || ScheduleKey(key) != nil else {
      throw RecordError(
        record: "schedule", field: "key",
        problem: "is neither <app>:<environment>:<id> nor campaign:<name>:<app>:<environment>")
    }
    self.key = key
    guard recordKey.count <= Self.longestKey else {
      throw RecordError(
        record: "schedule", field: "key", problem: "is longer than \(Self.longestKey) bytes")
    }
    // PostgreSQL would keep other bytes: the record would no longer be known as this one.
    guard !recordKey.contains(0), !content.contains(0) else {
      throw RecordError(record: "schedule", field: nil, problem: "has a NUL")
    }
    guard let text = String(validating: content, as: UTF8.self) else {
      throw RecordError(record: "schedule", field: nil, problem: "is not UTF-8")
    }
    value = text
    let identity = ScheduleRow.identity(of: content)
    if isCampaign {
      let revision = try CampaignRecord.revision(content, key: key.text, topics)
      change = .value(.campaign(revision: revision), identity: identity)
      return
    }
    switch try ScheduleRecord(content) {
    case .cancellation(let cancellation):
      change = .cancellation(
        at: cancellation.at, keptFrom: min(cancellation.at, now), identity: identity)
    // Kept as long as a cancellation, and never sent by itself.
    case .activity(let state):
      change = .cancellation(at: min(state.sentAt, now), identity: identity)
    case .request(let request):
      change = .request(
        due: request.due, accepted: request.accepted, requeuedAt: request.requeuedAt, now: now,
        isCaughtUp: isCaughtUp, identity: identity)
    }
  }
}

extension ScheduleJob {
  init(unreadable record: KafkaRecord, _ source: Source, _ detail: String) {
    self.source = source
    offset = record.offset
    key = String(decoding: record.key, as: UTF8.self).exact
    value = ""
    change = .unreadable
    refused = UnreadableRecord(
      reason: .invalidSchedule, detail: detail, key: Array(record.key), value: Array(record.value))
  }
}

/// A record without effect, because of which compaction would remove the one that counts for its key: that one is
/// rewritten, and this record is completed once Kafka has it.
struct ScheduleRepair {
  let key: ExactText
  let source: Source
  let offset: Int64
  /// The key of an unreadable record, and the headers of the tombstone that ends it where nothing counts.
  var unreadable: (key: [UInt8], ends: [KafkaHeader])?

  init(_ job: ScheduleJob) {
    (key, source, offset) = (job.key, job.source, job.offset)
    guard let refused = job.refused else { return }
    let identity = ScheduleRow.identity(of: refused.value ?? [])
    unreadable = (refused.key ?? [], [KafkaHeader(ScheduleRecord.endsHeader, "\(identity)")])
  }
}

/// The effects of one partition's records, in order.
struct ScheduleOutcome {
  /// The new states of keys.
  private(set) var stored: [ScheduledEntry] = []
  /// The keys that have none any more.
  private(set) var removed: [ExactText] = []
  /// The keys whose former entry ended, and whose new state is that of another one.
  private(set) var ended: [ExactText] = []
  /// Records to rewrite, with the records that make it necessary.
  var restored: [ScheduleRepair] = []
  /// Records that cannot be read.
  var refused: [ScheduleJob] = []
  var scheduled = 0
  var cancelled = 0
  var handedBack = 0
  /// Campaigns that were started again while their names were in use.
  var startedAgain: [ExactText] = []

  /// The outcome of tombstones that end what their keys have; nil if there is anything else.
  ///
  /// - Parameter row: the row of a key; nil also where it would have to be looked for.
  init?(ends share: ScheduleBatch.Share, over row: (ExactText) -> ScheduleRow?) {
    guard share.isOfEnds else { return nil }
    removed.reserveCapacity(share.jobs.count)
    for job in share.jobs {
      guard let row = row(job.key), case .remove = job.change.verdict(at: job.offset, over: row)
      else { return nil }
      removed.append(job.key)
    }
  }

  /// - Parameter rows: the database's rows of the keys.
  init(_ jobs: [ScheduleJob], over rows: [ExactText: ScheduleRow]) {
    // nil: removed.
    var changed: [ExactText: ScheduledEntry?] = [:]
    for job in jobs {
      let current = changed[job.key].map { $0?.row } ?? rows[job.key]
      let verdict = job.change.verdict(at: job.offset, over: current)
      guard job.refused == nil else {
        refused.append(job)
        continue
      }
      switch verdict {
      case .ignore: break
      case .store(let row):
        if case .some(.none) = changed[job.key] { ended.append(job.key) }
        changed[job.key] = .some(ScheduledEntry(key: job.key, row: row, value: job.value))
        if !row.isCancellation, !row.isCampaign { scheduled += 1 }
        if case .handedBack = row.kind { handedBack += 1 }
        if row.isCancellation, current?.isCancellation == false { cancelled += 1 }
      case .remove: changed.updateValue(nil, forKey: job.key)
      case .restore:
        restored.append(ScheduleRepair(job))
        if case .value = job.change, current?.isCancellation == true { cancelled += 1 }
        if case .value(.campaign(revision: 0), _) = job.change { startedAgain.append(job.key) }
      }
    }
    for (key, entry) in changed {
      if let entry { stored.append(entry) } else { removed.append(key) }
    }
  }

  /// The records that are not done with the database's change: they are rewritten, or become dead letters.
  var open: Set<Int64> { Set(restored.map(\.offset) + refused.map(\.offset)) }
}
