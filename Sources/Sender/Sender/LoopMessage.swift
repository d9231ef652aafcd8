// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions

/// A partition that a loop was given by the control thread.
struct PartitionGrant: Sendable {
  var partition: TopicPartition
  /// Counts assignments of the whole process.
  var epoch: UInt32
  var start: GrantedPartition
  var queue: KafkaQueue
}

/// What the control thread tells a loop.
enum LoopMessage: Sendable {
  /// These partitions are the loop's now.
  case granted([PartitionGrant])
  /// What has been read again of a partition's `apns-id`s: the newest, or all that a window holds.
  case window(TopicPartition, epoch: UInt32, DedupWindow, isWhole: Bool)
  /// Stop taking from every partition, finish what is in flight until the deadline (monotonic
  /// milliseconds), give the partitions back.
  case drain(deadline: UInt64)
  /// A drain under way ends sooner than it was told; one that has ended is not answered again.
  case shortenDrain(deadline: UInt64)
  /// Provider tokens appeared, changed or were withdrawn, in this order. `isComplete`: all that were on the topic at the
  /// start are known.
  case providerTokens([ProviderTokenBook.Update], isComplete: Bool)
  /// What an operator has paused now.
  case pauses(Pauses)
  /// The numbers of partitions that all loops of all senders have together now.
  case partitions(PartitionTotals)
  /// The paces that an operator has set now.
  case paces(Paces)
  /// Devices were removed, have changed their owner, or may be used again.
  case devices([DeviceNews])
  /// Client certificates and roots were read again.
  case access(GatewayAccess)
  /// Drain as for `drain`, then close the connections with GOAWAY and end.
  case stop(deadline: UInt64)
}

/// What a loop tells the control thread.
enum ControlMessage: Sendable {
  case progress([PartitionProgress<TopicPartition>])
  /// The loop owns no partition any more; these are the last figures, and the windows of `apns-id`s.
  case drained([PartitionProgress<TopicPartition>], [DrainedWindow])
  /// Offsets that the log does not have. The widest stretch of a partition since the last message.
  case jumped([LogJump])
  /// Offsets below one that was read, or below where reading began, came.
  case wentBack(TopicPartition, epoch: UInt32, from: Int64)
  /// No provider token for an app, or one that APNs refused.
  case tokenWanted(TokenRequest)
  /// The loop has ended.
  case ended
}

/// The `apns-id`s of what was completed in a partition that is given back.
struct DrainedWindow: Sendable {
  var partition: TopicPartition
  var window: DedupWindow
  /// The first offset that is not done.
  var next: Int64
}

/// Offsets that were expected and did not come.
struct LogJump: Sendable {
  var partition: TopicPartition
  var epoch: UInt32
  var offsets: Range<Int64>
}
