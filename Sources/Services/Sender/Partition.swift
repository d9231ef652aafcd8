// SPDX-License-Identifier: Apache-2.0
import APNS
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
}

/// One assigned partition as its loop sees it.
struct Partition {
  var name: TopicPartition
  var feed: Feed
  var epoch: UInt32
  var queue: KafkaQueue
  /// Made at the first record if the group has committed nothing yet.
  var ledger: OffsetLedger?
  /// The `apns-id`s taken lately. Made at the first record, so that quiet partitions cost no memory.
  private var recent: DedupWindow?
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

  init(_ grant: PartitionGrant) {
    name = grant.partition
    feed = grant.feed
    epoch = grant.epoch
    queue = grant.queue
    ledger = grant.nextOffset.map {
      OffsetLedger(nextOffset: $0, completedAbove: grant.completedAbove)
    }
  }

  /// Whether a lane's record is the first with its `apns-id` among the last `window` ones. Retry topics hold
  /// what was taken before.
  mutating func isFirst(_ id: NotificationID, among window: Int) -> Bool {
    guard window > 0, !isRetry else { return true }
    if recent == nil { recent = DedupWindow(capacity: window) }
    return recent!.insert(id)
  }

  /// Records taken and not completed.
  var open: Int { ledger?.holes ?? 0 }
}
