// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import FeedbackDecisions
import Kafka
import Records
import ServiceKit
import Store
import Telemetry

/// Keeps the database at what `push.devices` and `push.invalid-tokens` say: reads all of both topics, from where the
/// database stands or, where that cannot be trusted, from their beginning beside the rows that are there, and says when
/// nothing is missing.
///
/// Owned by the worker's thread; never waits for a broker.
final class DeviceTables {
  /// How often it is noted that the database is complete, in milliseconds.
  private static let notePeriod: Int64 = 60_000

  private let log: Logger
  private let status: StatusBoard
  private let store: TokenStore
  private let invalidator: TokenInvalidator
  private let rule: RestoreRule
  private let counters: Counters<FeedbackMetrics>
  private let watermarks: WatermarkReader
  private let tables: [DeviceTable]
  /// Whether the database's own positions are known.
  private var isOpen = false
  private var completeness: TableCompleteness<TopicPartition>
  /// When the last question was asked, and when the database was last noted to be complete (wall clock).
  private var askedAt: Int64 = 0
  private var notedAt: Int64 = 0
  private var patience: DatabaseRetry
  /// Whether the database has not been complete since it was opened, and since when that is (monotonic).
  private(set) var isCatchingUp = true
  private var began: UInt64 = 0
  /// How far that is, and whether others may look nothing up meanwhile.
  private var filling = Filling()
  private var sweep = OldRowsWalk()
  private var errors = RepeatedMessages()
  private var caughtUp = 0
  /// Whether marks may stand on the topic that registrations refute.
  var hasRefutedMarks = false
  /// Whether devices were erased.
  var hasErased = false

  init(
    _ settings: FeedbackSettings, _ context: ServiceContext, _ names: TopicNames,
    _ store: TokenStore, _ invalidator: TokenInvalidator, _ cluster: ClusterView,
    _ counters: Counters<FeedbackMetrics>, wakeup: Wakeup
  ) throws {
    log = context.log
    status = context.status
    patience = DatabaseRetry(context, counters)
    self.store = store
    self.invalidator = invalidator
    self.counters = counters
    rule = RestoreRule(maxAge: settings.databaseMaxAge)
    watermarks = try WatermarkReader(cluster.configuration, context, wakeup: wakeup)
    var tables: [DeviceTable] = []
    var partitions: [TopicPartition] = []
    for topic in [names.devices, names.invalidTokens] {
      let count = cluster.partitions[topic] ?? 0
      var configuration = cluster.configuration
      configuration.sharePrefetch(among: count)
      tables.append(
        DeviceTable(
          try KafkaChangelog(configuration, topic: topic, partitions: count, wakeup: wakeup)))
      partitions += (0..<Int32(count)).map { TopicPartition(topic: topic, partition: $0) }
    }
    self.tables = tables
    completeness = TableCompleteness(partitions)
  }

  func close() {
    for table in tables {
      table.batch.release()
      table.changelog.close()
    }
    watermarks.close()
  }

  // MARK: Complete or not

  /// Something is to be judged: from now on the tables are complete when they have all that was written until now.
  func want() { completeness.want() }

  var isComplete: Bool { !isCatchingUp && hasRead }

  /// Whether the topics have been read as far as was asked for.
  private var hasRead: Bool {
    isOpen && tables.allSatisfy { $0.batch.count == 0 } && completeness.isComplete(position)
  }

  /// The next offset to read; nil before the log is known to be the one that the database reflects.
  private func position(_ partition: TopicPartition) -> Int64? {
    tables.first { $0.changelog.topic == partition.topic }?.position(Int(partition.partition))
  }

  /// Whether the database still has all that was read into it; in the transaction that judges by it. Another process
  /// that shares the file may have begun it again.
  func isCurrent() throws(StoreError) -> Bool {
    let stored = try store.positions()
    return tables.allSatisfy { table in
      table.positions.indices.allSatisfy {
        (stored[table.changelog.topic]?[Int32($0)]?.next ?? 0) >= table.positions[$0].next
      }
    }
  }

  /// Takes the database as it stands now.
  func reopen() { isOpen = false }

  // MARK: Turn

  /// - Parameter isPublishing: more is on its way, and nothing is judged before it is there.
  /// - Returns: true when there is more to read at once.
  func turn(isPublishing: Bool) throws -> Bool {
    for ended in errors.drainEnded(now: MonotonicClock.milliseconds()) {
      log(ServiceKitLog.errorEnded, ["error": ended.text, "left_out": "\(ended.more)"])
    }
    guard patience.isOver else { return false }
    var hasMore = false
    do throws(StoreError) {
      if !isOpen { try open() }
      for table in tables where try follow(table, isPublishing) { hasMore = true }
      try ask()
      if try noteCompleteness() { hasMore = true }
      try tellProgress()
    } catch {
      try patience.failed(error)
      return false
    }
    patience.succeeded()
    return hasMore
  }

  private func ask() throws(StoreError) {
    if let answer = watermarks.drainAnswer() {
      if let other = completeness.answered(answer.mapValues(\.high)) {
        return try restore(.otherLog(topic: other.topic, partition: other.partition))
      }
      filling.answered(answer.mapValues { ($0.low, $0.high) })
    }
    guard isOpen, !watermarks.isAsked, let partitions = completeness.question(position) else {
      return
    }
    askedAt = WallClock.milliseconds()
    watermarks.ask(partitions)
  }

  // MARK: Reading

  /// Begins where the database stands, or at the beginning of the topics.
  private func open() throws(StoreError) {
    let stored = try store.positions()
    let (followedAt, now) = (try store.followedAt(), WallClock.milliseconds())
    let reason = rule.reason(
      followedAt: followedAt, now: now, topics: Set(stored.keys),
      wanted: Set(tables.map(\.changelog.topic)))
    if let reason { return try restore(reason) }
    if RestoreRule.isBehind(followedAt: followedAt, now: now), case .complete = try store.state() {
      log(FeedbackLog.databaseBehind)
      try store.setIncomplete()
    }
    begin(stored)
  }

  private func restore(_ reason: RestoreReason) throws(StoreError) {
    let now = WallClock.milliseconds()
    try store.startOver(at: now)
    notedAt = now
    if reason == .empty {
      log(FeedbackLog.building)
    } else {
      log(FeedbackLog.rebuilding, ["reason": "\(reason)"])
    }
    counters.add(.restores)
    begin([:])
  }

  private func begin(_ stored: [String: [Int32: ChangelogPosition]]) {
    for table in tables {
      do throws(KafkaError) {
        try table.begin(stored[table.changelog.topic] ?? [:])
      } catch {
        // For want of memory only: the next turn begins once more.
        log(FeedbackLog.topicNotBegun, ["error": "\(error)"])
        isOpen = false
        return
      }
    }
    isOpen = true
    isCatchingUp = true
    caughtUp = 0
    began = MonotonicClock.milliseconds()
    var starts: [TopicPartition: Int64] = [:]
    for table in tables {
      for (number, position) in table.positions.enumerated() {
        starts[TopicPartition(topic: table.changelog.topic, partition: Int32(number))] =
          position.next
      }
    }
    filling = Filling(starts)
    completeness.want()
  }

  /// Every topic's client tells of a broker that is down.
  private func tell(_ error: KafkaError) {
    let now = MonotonicClock.milliseconds()
    guard let more = errors.admit("\(error)", now: now) else { return }
    log(FeedbackLog.topicNotRead, ["error": "\(error)", "left_out": "\(more)"])
  }

  /// Reads on in one topic. While there is time, records gather for one transaction.
  ///
  /// - Returns: whether records were applied.
  private func follow(_ table: DeviceTable, _ mayGather: Bool) throws(StoreError) -> Bool {
    guard isOpen else { return false }
    let changelog = table.changelog
    table.read()
    if let error = changelog.drainError() { tell(error) }
    if let partition = changelog.lost {
      try restore(.otherLog(topic: changelog.topic, partition: partition))
      return true
    }
    guard table.batch.count > 0, !(mayGather && table.mayGather) else { return false }
    guard let applied = try apply(table) else { return true }
    table.finish(applied)
    caughtUp += applied.count
    hasRefutedMarks = hasRefutedMarks || applied.refutes
    hasErased = hasErased || applied.erases
    return true
  }

  /// Applies what was read of a topic, and how far that is, in one transaction; nil when the database and the log do
  /// not fit together.
  private func apply(_ table: DeviceTable) throws(StoreError) -> DeviceTable.Applied? {
    let topic = table.changelog.topic
    var checks = table.checks
    var other: Int32?
    let applied = try store.transaction(isCopy: true) {
      () throws(StoreError) -> DeviceTable.Applied? in
      var applied = DeviceTable.Applied()
      var last = [Int](repeating: -1, count: table.positions.count)
      try store.followGeneration()
      let stored = try store.positions()[topic] ?? [:]
      // Another process that shares the file may be ahead.
      let next = table.positions.indices.map { stored[Int32($0)]?.next ?? 0 }
      for (partition, position) in table.positions.enumerated()
      where next[partition] < position.next { return nil }
      let devices = table.devices(after: next)
      var rows = try store.rows(of: devices.compactMap(\.self))
      var places = rows.asked.makeIterator()
      let now = WallClock.milliseconds()
      for entry in 0..<table.batch.count {
        let record = table.batch[entry]
        let partition = Int(record.partition)
        let place = devices[entry] == nil ? nil : places.next()
        if !checks[partition].mayEnd() {
          // The first record of the partition.
          let isAnchor =
            !record.isEndOfPartition && checks[partition].isAnchor(table.anchor(entry))!
          if !isAnchor { other = record.partition }
          continue
        }
        if record.isEndOfPartition { continue }
        last[partition] = entry
        guard record.offset >= next[partition], other == nil else { continue }
        applied.count += 1
        guard let place else { continue }
        let refutes = invalidator.follow(
          topic, at: place, key: record.key, value: record.value, timestamp: record.timestamp,
          now: now, &rows)
        if refutes { applied.refutes = true }
        if invalidator.erases(topic, rows.device(place), record.value) {
          let time = OutsideTime.received(recordTime: record.timestamp, now: now)
          try store.forget(rows.device(place), at: now, tombstone: time)
          applied.erases = true
        }
      }
      guard other == nil else { return nil }
      try store.write(rows)
      for (partition, entry) in last.enumerated() where entry >= 0 {
        let anchor = table.anchor(entry)
        applied.last[Int32(partition)] = anchor
        guard anchor.offset >= next[partition] else { continue }
        try store.setPosition(topic, Int32(partition), ChangelogPosition(anchor: anchor))
      }
      return applied
    }
    if let other {
      try restore(.otherLog(topic: topic, partition: other))
      return nil
    }
    guard let applied else {
      log(FeedbackLog.rebuiltElsewhere)
      isOpen = false
      return nil
    }
    table.checks = checks
    return applied
  }

  // MARK: Age

  /// Has the database remember when it was complete; asks by itself where nobody else wants to know.
  ///
  /// - Returns: whether there is more to do at once.
  private func noteCompleteness() throws(StoreError) -> Bool {
    let now = WallClock.milliseconds()
    if now - askedAt >= rule.idlePeriod, completeness.isAnswered { completeness.want() }
    let isRecent = askedAt >= notedAt && askedAt - notedAt < Self.notePeriod
    guard isCatchingUp || !isRecent, hasRead else { return false }
    let reason = rule.reason(followedAt: try store.followedAt(), now: now, topics: [], wanted: [])
    if let reason {
      // Reading stood still for so long that tombstones may be gone.
      try restore(reason)
      return true
    }
    var (walk, hasMore) = (sweep, false)
    let isNoted = try store.transaction { () throws(StoreError) -> Bool in
      guard try isCurrent() else { return false }
      // Also those of a reading that another process has begun and brought this far.
      hasMore = try walk.removePage(of: store)
      if !hasMore { try store.setComplete(at: askedAt) }
      return true
    }
    sweep = walk
    guard isNoted else {
      isOpen = false
      return true
    }
    if hasMore { return true }
    notedAt = askedAt
    guard isCatchingUp else { return false }
    isCatchingUp = false
    status.set("devices", obstacle: nil)
    let took = MonotonicClock.milliseconds() - began
    log(FeedbackLog.databaseComplete, ["records": "\(caughtUp)", "milliseconds": "\(took)"])
    return false
  }

  /// Tells those who wait how far it is, once a second.
  private func tellProgress() throws(StoreError) {
    let now = MonotonicClock.milliseconds()
    guard isOpen, isCatchingUp, filling.isDue(now) else { return }
    let progress = filling.progress(position)
    guard case .filling = try store.state() else { return }
    let obstacle = TableState.filling(progress).obstacle
    status.set("devices", obstacle: obstacle)
    try store.transaction(isCopy: true) { () throws(StoreError) in try store.set(progress) }
  }
}

/// A walk over all rows that removes those that are of an earlier reading of the topics: the topics do not have them.
struct OldRowsWalk {
  /// The end of the last page, and the reading whose rows stay.
  private var place: DeviceKey?
  private var generation: Int64?

  /// Removes them from the next page, in the caller's transaction; from the first one again if another process has read the
  /// topics anew.
  ///
  /// - Parameter limit: rows that are looked through.
  /// - Returns: whether there is more.
  mutating func removePage(of store: TokenStore, limit: Int = 10_000) throws(StoreError) -> Bool {
    guard try store.hasOldRows() else { return false }
    try store.followGeneration()
    if store.generation != generation { (place, generation) = (nil, store.generation) }
    place = try store.removeOldRows(after: place, limit: limit).end
    if place == nil { try store.noteOldRowsGone() }
    return place != nil
  }
}
