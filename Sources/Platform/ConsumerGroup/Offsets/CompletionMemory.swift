// SPDX-License-Identifier: Apache-2.0

/// The position from which a partition is read after an assignment.
public struct ResumePoint: Sendable, Equatable {
  /// The first offset that is not known to be completed; nil for the start of the log.
  public var next: Int64?
  /// The offsets above it that are known to be completed: ascending, separate from each other and from `next`.
  public var completedAbove: [Range<Int64>]

  public init(next: Int64?, completedAbove: [Range<Int64>] = []) {
    self.next = next
    self.completedAbove = completedAbove
  }

  /// Merges completed ranges from several sources, in any order, below, at or above `next`.
  public init(next: Int64, joining ranges: [Range<Int64>]) {
    var next = next
    var joined: [Range<Int64>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if range.lowerBound <= next {
        next = max(next, range.upperBound)
      } else if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    self.init(next: next, completedAbove: joined)
  }
}

/// The offsets that this process completed in partitions that it has given up.
///
/// A rebalance often assigns a process the same partitions again, and the broker may have refused the commit at
/// revocation (one that is already rebalancing does). A completed record stays complete, so remembered ones are skipped
/// instead of sent twice. The memory is trusted only if the group's committed offset fits the same log: it is not below
/// the last commit acknowledged here. A recreated topic starts below it, or without an offset.
public struct CompletionMemory<Partition: Hashable & Sendable>: Sendable {
  private struct Entry {
    /// The last offset whose commit was acknowledged.
    var committed: Int64
    var committable: Int64
    var completedAbove: [Range<Int64>]
  }

  private var entries: [Partition: Entry] = [:]

  public mutating func remember(
    _ partition: Partition, committed: Int64, committable: Int64, completedAbove: [Range<Int64>]
  ) {
    guard committed >= 0 else { return }
    entries[partition] = Entry(
      committed: committed, committable: committable, completedAbove: completedAbove)
  }

  /// Drops the entry of a partition whose log was truncated or recreated.
  public mutating func forget(_ partition: Partition) { entries[partition] = nil }

  /// Call it when the assignment is complete: partitions that did not come back belong to other processes, and their
  /// logs may have been replaced by the time they do.
  public mutating func removeAll() { entries.removeAll() }

  /// The position from which to read an assigned partition, and the completed offsets above it.
  ///
  /// - Parameters:
  ///   - committed: the group's committed offset, nil if there is none.
  ///   - map: the completed offsets of the map committed with it.
  ///   - logStart: the log start offset, if known. A group without a committed offset starts and commits there, so that
  ///     records which retention removes above it later are known to be lost, also to the next owner.
  /// - Returns: the point, whether it contains more than offset and map, and whether these contain no more than is
  ///   remembered, so that nobody else has completed anything since.
  public mutating func resume(
    _ partition: Partition, committed: Int64?, map: [Range<Int64>], logStart: Int64? = nil
  ) -> (point: ResumePoint, isNews: Bool, isAsLeft: Bool) {
    let entry = entries.removeValue(forKey: partition)
    guard let committed else { return (ResumePoint(next: logStart), logStart != nil, false) }
    let told = ResumePoint(next: committed, joining: map)
    let words = ResumePoint(next: committed, completedAbove: map)
    guard let entry, committed >= entry.committed, entry.committable >= 0 else {
      return (told, told != words, false)
    }
    // Everything below its committable offset is completed, so one range from the committed offset covers it.
    let prefix = committed..<max(committed, entry.committable)
    let remembered = entry.completedAbove + (prefix.isEmpty ? [] : [prefix])
    let known = ResumePoint(next: committed, joining: map + remembered)
    let isAsLeft = known == ResumePoint(next: committed, joining: remembered)
    return (known, known != words, isAsLeft)
  }
}
