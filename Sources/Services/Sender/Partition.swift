// SPDX-License-Identifier: Apache-2.0
import Delivery
import Kafka
import Pipeline

/// What kind of topic a partition belongs to: decides its turn and when its records are due.
enum Feed: Sendable {
  case lane(Lane)
  case retries(RetryTier)
}

/// A partition that a loop was given by the control thread.
struct PartitionGrant: Sendable {
  var partition: TopicPartition
  var feed: Feed
  /// Counts assignments of the whole process.
  var epoch: UInt32
  /// Where to go on; the group's committed offset, or nil for the start of the log.
  var nextOffset: Int64?
  /// Offsets above it that were completed in an earlier assignment.
  var completedAbove: [Range<Int64>]
  var queue: KafkaQueue

  /// A window for a lane's partition, none for a retry topic: what is there was taken before.
  func recentIDs(_ capacity: Int) -> DedupWindow? {
    guard case .lane = feed, capacity > 0 else { return nil }
    return DedupWindow(capacity: capacity)
  }
}

/// One assigned partition as its loop sees it.
struct Partition {
  var name: TopicPartition
  var feed: Feed
  var epoch: UInt32
  var queue: KafkaQueue
  /// Made at the first record if the group has committed nothing yet.
  var ledger: OffsetLedger?
  /// The `apns-id`s taken lately; nil where nothing is deduplicated.
  var recent: DedupWindow?
  /// False once a take came back short: the queue's next record signals the loop.
  var mayHaveMore = true
  /// A retry that was read before it was due, and when it will be (time of day, milliseconds).
  var held: (slot: UInt32, due: Int64)?
  /// The committable offset last told to the control thread.
  var told: Int64 = -1

  var isRetry: Bool {
    if case .retries = feed { return true }
    return false
  }

  /// Records taken and not completed.
  var open: Int { ledger?.holes ?? 0 }
}
