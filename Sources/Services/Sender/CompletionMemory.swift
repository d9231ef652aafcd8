// SPDX-License-Identifier: Apache-2.0
import Kafka

/// What this process completed in partitions that it has given back.
///
/// A rebalance often gives a process the same partitions again, and the broker may have refused the commit at
/// revocation (a broker that is already rebalancing does). A completed record never becomes incomplete, so
/// what is remembered is skipped instead of being sent twice. It is believed only if the group's offset lies
/// where it must lie on the same log: not below the last commit that was acknowledged here. A topic that was
/// deleted and made again begins below it, or without an offset.
struct CompletionMemory {
  private struct Entry {
    /// The last offset whose commit was acknowledged.
    var committed: Int64
    var committable: Int64
    var completedAbove: [Range<Int64>]
  }

  /// Runs kept of one partition.
  static let runsAtMost = 1_000

  private var entries: [TopicPartition: Entry] = [:]

  /// A partition was given back.
  mutating func remember(
    _ partition: TopicPartition, committed: Int64, committable: Int64,
    completedAbove: [Range<Int64>]
  ) {
    guard committed >= 0 else { return }
    entries[partition] = Entry(
      committed: committed, committable: committable, completedAbove: completedAbove)
  }

  /// Where to go on in a partition that was assigned, and what is done above that.
  ///
  /// - Parameter committed: the group's offset, nil if it has none.
  mutating func resume(
    _ partition: TopicPartition, committed: Int64?
  ) -> (next: Int64?, completedAbove: [Range<Int64>]) {
    guard let entry = entries.removeValue(forKey: partition), let committed,
      committed >= entry.committed
    else { return (committed, []) }
    let next = max(committed, entry.committable)
    return (next, entry.completedAbove.filter { $0.upperBound > next })
  }
}
