// SPDX-License-Identifier: Apache-2.0

/// The maximum unfinished work of one partition before no more records are taken from it.
///
/// The bound is on open records, not on the distance from the oldest open record to the newest: one slow record must
/// not stop a partition, and hanging ones are rare. Beyond a bound the partition's records wait in Kafka; none is lost,
/// and other partitions continue.
public struct PartitionBounds: Sendable, Equatable {
  /// The maximum number of records taken and not completed. Every completed run above the committed offset has an open
  /// record below it, so this also bounds the runs.
  public var openAtMost: Int
  /// The maximum number of completed runs above the committed offset. 1,000 with open ranges below 33 and completed
  /// ranges below 32,769 offsets take at most 4,000 characters, so the whole map fits into the commit's metadata.
  public let runsAtMost = 1_000
  /// The maximum distance between the oldest open record and the newest one: one bit each, and the span of a map.
  public let spanAtMost = OffsetMap.spanAtMost

  public init(openAtMost: Int = 2_000) { self.openAtMost = openAtMost }

  /// The number of further records that may be taken; 0 if a bound is reached.
  public func allowance(open: Int, runs: Int, span: Int64) -> Int {
    guard runs < runsAtMost, span < spanAtMost else { return 0 }
    return max(0, openAtMost - open)
  }
}
