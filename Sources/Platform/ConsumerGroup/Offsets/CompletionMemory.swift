// SPDX-License-Identifier: Apache-2.0

/// The position from which a partition is read after an assignment.
public struct ResumePoint: Sendable, Equatable {
  /// The first offset that is not known to be done; nil for the start of the log.
  public var next: Int64?
  /// The offsets above it that are known to be done: ascending, apart from each other and from `next`.
  public var completedAbove: [Range<Int64>]

  public init(next: Int64?, completedAbove: [Range<Int64>] = []) {
    self.next = next
    self.completedAbove = completedAbove
  }

  /// Joins what several sources say is done: ranges in any order, below, at or above `next`.
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

/// The offsets that this process completed in partitions that it has given back.
///
/// A rebalance often gives a process the same partitions again, and the broker may have refused the commit at
/// revocation (a broker that is already rebalancing does). A completed record never becomes incomplete, so
/// what is remembered is skipped instead of being sent twice. It is believed only if the group's offset lies
/// where it must lie on the same log: not below the last commit that was acknowledged here. A topic that was
/// deleted and made again begins below it, or without an offset.
public struct CompletionMemory<Partition: Hashable & Sendable>: Sendable {
  private struct Entry {
    /// The last offset whose commit was acknowledged.
    var committed: Int64
    var committable: Int64
    var completedAbove: [Range<Int64>]
  }

  private var entries: [Partition: Entry] = [:]

  public init() {}

  /// A partition was given back.
  public mutating func remember(
    _ partition: Partition, committed: Int64, committable: Int64, completedAbove: [Range<Int64>]
  ) {
    guard committed >= 0 else { return }
    entries[partition] = Entry(
      committed: committed, committable: committable, completedAbove: completedAbove)
  }

  /// The partition's log is not the one that was read.
  public mutating func forget(_ partition: Partition) { entries[partition] = nil }

  /// The assignment is complete: what did not come back is another process's, and its log may be another one by the time
  /// that it does.
  public mutating func removeAll() { entries.removeAll() }

  /// The position from which to read an assigned partition, and the offsets above it that are done.
  ///
  /// - Parameters:
  ///   - committed: the group's offset, nil if it has none.
  ///   - map: what the map committed beside it says is done.
  ///   - logStart: the first offset of the log if that is known. A group without an offset begins there, and says so:
  ///     what retention removes above it from now on is known to be lost, also to the next owner.
  /// - Returns: the point, whether it says more than offset and map do, and whether these say no more than is remembered:
  ///   nobody else has completed anything since.
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
    // All below its committable offset is done, so the one range from the group's offset says it.
    let prefix = committed..<max(committed, entry.committable)
    let remembered = entry.completedAbove + (prefix.isEmpty ? [] : [prefix])
    let known = ResumePoint(next: committed, joining: map + remembered)
    let isAsLeft = known == ResumePoint(next: committed, joining: remembered)
    return (known, known != words, isAsLeft)
  }
}
