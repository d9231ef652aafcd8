// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka
import Records

/// What the control thread tells a loop.
enum LoopMessage: Sendable {
  /// These partitions are the loop's now.
  case granted([PartitionGrant])
  /// Stop taking from every partition, finish what is in flight until the deadline (monotonic
  /// milliseconds), give the partitions back.
  case release(deadline: UInt64)
  /// A provider token appeared or changed.
  case providerToken(ProviderTokenBook.Entry)
  case providerTokenRemoved(credential: String)
  /// Client certificates and roots were read again.
  case access(GatewayAccess)
  /// Drain as for `release`, then close the connections with GOAWAY and end.
  case stop(deadline: UInt64)
}

/// How far a partition is done.
struct PartitionProgress: Sendable {
  var partition: TopicPartition
  var epoch: UInt32
  /// One past the contiguous prefix of completed records.
  var committable: Int64
  /// What is completed above it; filled in when the partition is given back.
  var completedAbove: [Range<Int64>] = []
}

/// What a loop tells the control thread.
enum ControlMessage: Sendable {
  case progress([PartitionProgress])
  /// The loop owns no partition any more; these are the last figures.
  case released([PartitionProgress])
  /// No provider token for an app, or one that APNs refused.
  case tokenWanted(TokenRequest)
  /// The loop has ended.
  case ended
}
