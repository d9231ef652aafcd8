// SPDX-License-Identifier: Apache-2.0

/// The most work that one partition may have unfinished before nothing more is taken from it.
///
/// The bound is on what is open, not on the distance from the oldest open record to the newest: one slow record
/// must not stop a partition, and hanging ones are rare. Beyond a bound the partition's records wait in Kafka; none
/// is lost, and other partitions go on.
public struct PartitionBounds: Sendable, Equatable {
  /// Records taken and not completed. Every completed run above the committed offset has an open record below it,
  /// so this also bounds the runs.
  public var openAtMost: Int
  /// Completed runs above the committed offset. 1,000 with open stretches below 33 and completed stretches below
  /// 32,769 offsets take at most 4,000 characters, so the whole map fits beside the commit.
  public var runsAtMost: Int
  /// Offsets between the oldest open record and the newest one: memory of one bit each, and the reach of a map.
  public var spanAtMost: Int64

  public init(
    openAtMost: Int = 2_000, runsAtMost: Int = 1_000, spanAtMost: Int64 = OffsetMap.spanAtMost
  ) {
    self.openAtMost = openAtMost
    self.runsAtMost = runsAtMost
    self.spanAtMost = spanAtMost
  }

  /// The number of further records that may be taken; 0 when a bound is reached.
  public func allowance(open: Int, runs: Int, span: Int64) -> Int {
    guard runs < runsAtMost, span < spanAtMost else { return 0 }
    return max(0, openAtMost - open)
  }
}
