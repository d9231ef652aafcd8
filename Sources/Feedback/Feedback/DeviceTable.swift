// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka

/// One of the topics that the database is a copy of: how far the database has it, and what was read and is not in the
/// database yet. Owned by the worker's thread.
final class DeviceTable {
  typealias Anchor = ChangelogPosition.Anchor

  /// What one transaction applied.
  struct Applied {
    var count = 0
    var refutes = false
    /// Whether devices were erased.
    var erases = false
    /// The last record of each partition.
    var last: [Int32: Anchor] = [:]
  }

  /// How long records gather for one transaction, in milliseconds.
  private static let gatheringTime: UInt64 = 200

  let changelog: KafkaChangelog
  /// Read, and not yet in the database. The more records a transaction has, the more of them share a page that is
  /// written.
  var batch = KafkaBatch(capacity: 12_000)
  /// The time at which the first of them was read, in monotonic milliseconds.
  private var readAt: UInt64 = 0
  /// The last record of each partition that is in the database.
  private(set) var positions: [ChangelogPosition] = []
  var checks: [AnchorCheck] = []

  init(_ changelog: KafkaChangelog) { self.changelog = changelog }

  /// Begins each partition behind what the database has of it.
  func begin(_ stored: [Int32: ChangelogPosition]) throws(KafkaError) {
    batch.release()
    positions = changelog.positions.indices.map { stored[Int32($0)] ?? ChangelogPosition() }
    checks = positions.map { AnchorCheck($0) }
    try changelog.begin(at: positions.map(\.start))
  }

  /// The next offset to read; nil before the log is known to be the one that the database reflects.
  func position(_ partition: Int) -> Int64? {
    checks[partition].mayEnd() ? changelog.positions[partition] : nil
  }

  /// Reads on, as long as there is room.
  func read() {
    if batch.count == 0 { readAt = MonotonicClock.milliseconds() }
    if batch.count < batch.capacity { changelog.poll(into: &batch) }
  }

  /// Whether more records may join those that were read.
  var mayGather: Bool {
    batch.count < batch.capacity && MonotonicClock.milliseconds() - readAt < Self.gatheringTime
  }

  /// The device that each record is about which the database does not have yet; nil for the others.
  ///
  /// - Parameter next: the first offset of each partition that the database does not have.
  func devices(after next: [Int64]) -> [DeviceKey?] {
    (0..<batch.count).map { entry in
      let record = batch[entry]
      guard !record.isEndOfPartition, record.offset >= next[Int(record.partition)]
      else { return nil }
      return DeviceKey(key: record.key)
    }
  }

  /// By what a record that was read is known again.
  func anchor(_ entry: Int) -> Anchor {
    let record = batch[entry]
    return Anchor(
      offset: record.offset, timestamp: record.timestamp, keyHash: Anchor.hash(record.key))
  }

  /// The database has what was read.
  func finish(_ applied: Applied) {
    for (partition, anchor) in applied.last where anchor.offset >= positions[Int(partition)].next {
      positions[Int(partition)] = ChangelogPosition(anchor: anchor)
    }
    batch.release()
  }
}
