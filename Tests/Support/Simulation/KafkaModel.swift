// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import Pipeline

/// The topics, and what the consumer group has committed: the truth that no crash changes.
struct KafkaModel {
  struct Partition {
    let feed: Feed
    var records: [LogRecord] = []
    /// Where the log begins to count: below it everything is committed.
    var committed: Int64?
    var completedAbove: [Range<Int64>] = []
    /// Every record below it was found settled.
    var verified: Int64 = 0
    /// How far any process has read.
    var readTo: Int64 = 0
  }

  private(set) var partitions: [Partition] = []
  var notifications: [Notification] = []
  private(set) var problem: String?
  /// Records that were written, and those whose outcome is stored.
  private(set) var written = 0
  private(set) var settled = 0

  init() {
    let lanes: [Feed] =
      Array(repeating: .lane(.transactional), count: 3) + [
        .lane(.bulk), .lane(.bulk),
      ]
    let tiers = RetryTier.allCases.flatMap { [Feed.retries($0), .retries($0)] }
    partitions = (lanes + tiers).map { Partition(feed: $0) }
  }

  /// An application's notification is stored in a lane.
  mutating func write(_ facts: PushFacts, to partition: Int, isRepeat: Bool, at wall: Int64) {
    partitions[partition].records.append(
      LogRecord(notification: notifications.count, facts: facts, written: wall))
    notifications.append(Notification(id: facts.takenID, isRepeat: isRepeat))
    written += 1
  }

  /// A sender's record is stored on a retry topic.
  mutating func retry(_ facts: PushFacts, of notification: Int, _ tier: RetryTier, at wall: Int64) {
    let places = partitions.indices.filter { partitions[$0].feed == .retries(tier) }
    let place = places[Int(facts.device % UInt64(places.count))]
    partitions[place].records.append(
      LogRecord(notification: notification, facts: facts, written: wall))
    written += 1
  }

  /// What a record ended in is stored.
  mutating func settle(_ partition: Int, _ offset: Int64) {
    guard !partitions[partition].records[Int(offset)].isSettled else { return }
    partitions[partition].records[Int(offset)].isSettled = true
    settled += 1
  }

  /// The next record of a partition for a reader at an offset.
  mutating func read(_ partition: Int, at offset: Int64) -> LogRecord? {
    guard offset < partitions[partition].records.count else { return nil }
    let record = partitions[partition].records[Int(offset)]
    if offset < partitions[partition].readTo {
      // Read before: by a process that crashed, or lost the partition.
      notifications[record.notification].excusable += 1
    } else {
      partitions[partition].readTo = offset + 1
    }
    return record
  }

  /// The group commits: nothing may be committed before its outcome is stored.
  mutating func commit(_ partition: Int, _ done: PartitionDone) {
    partitions[partition].committed = done.committable
    partitions[partition].completedAbove = done.completedAbove
    while partitions[partition].verified < done.committable {
      let offset = partitions[partition].verified
      guard partitions[partition].records[Int(offset)].isSettled else {
        return fail("offset \(offset) of partition \(partition) was committed before its outcome")
      }
      partitions[partition].verified += 1
    }
    for range in done.completedAbove {
      for offset in range where !partitions[partition].records[Int(offset)].isSettled {
        return fail("offset \(offset) of partition \(partition) is called completed and is not")
      }
    }
  }

  mutating func fail(_ text: String) { problem = problem ?? text }

  /// The notifications whose outcome is stored nowhere, at the end.
  var lost: Int? {
    notifications.firstIndex { $0.outcomes.isEmpty }
  }

  /// Whether every record has what it ended in.
  var isSettled: Bool { written == settled }
}
