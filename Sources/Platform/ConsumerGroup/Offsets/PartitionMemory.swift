// SPDX-License-Identifier: Apache-2.0

/// The memory of the partitions that a process has given up, most of which come back with the next assignment: their
/// completed offsets and processed `apns-id`s. Determines the initial state of an assigned partition.
public struct PartitionMemory<Partition: Hashable & Sendable>: Sendable {
  public struct Start: Sendable {
    public var resume: ResumePoint
    /// True if the point contains more than the group's committed offset and map.
    public var isNews: Bool
    /// The initial ids, and those that must be read; nil if there were none before.
    public var ids: KeptWindows<Partition>.Start?

    public var mustRead: Bool { ids.map { !$0.missing.isEmpty || !$0.ahead.isEmpty } ?? false }
  }

  /// The completed offsets that are handed over when partitions are given up.
  public var completions = CompletionMemory<Partition>()
  private var windows = KeptWindows<Partition>()
  private let capacity: Int
  private let isRebuilding: Bool

  /// - Parameters:
  ///   - capacity: the number of ids in a window, 0 for none.
  ///   - isRebuilding: whether unknown ids are read again.
  public init(capacity: Int, isRebuilding: Bool = true) {
    self.capacity = capacity
    self.isRebuilding = isRebuilding
  }

  /// Returns the initial state of an assigned partition, and consumes what was remembered of it.
  ///
  /// - Parameters:
  ///   - committed: the group's committed offset, nil if there is none.
  ///   - map: the completed offsets of the map committed with it.
  public mutating func start(
    _ partition: Partition, takesIDs: Bool, committed: Int64?, map: [Range<Int64>],
    logStart: Int64? = nil
  ) -> Start {
    let (resume, isNews, isAsLeft) = completions.resume(
      partition, committed: committed, map: map, logStart: logStart)
    var start = Start(resume: resume, isNews: isNews)
    // Without an offset nothing was read before.
    guard takesIDs, capacity > 0, committed != nil, let next = resume.next,
      next > 0 || !resume.completedAbove.isEmpty
    else { return start }
    var ids = windows.take(partition, next: next, capacity: capacity)
    if !isRebuilding {
      ids.missing = next..<next
    } else if ids.window == nil || !ids.missing.isEmpty || !isAsLeft {
      // The previous owner committed some 200 ms ago, and the map has the offsets completed above that by then.
      let known = max(next, resume.completedAbove.last?.upperBound ?? next)
      ids.ahead = next..<known + Int64(capacity)
    }
    start.ids = ids
    return start
  }

  /// Keeps the ids of a partition that was given up.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    windows.keep(partition, window, next: next)
  }

  /// Drops the memory of a partition whose log was truncated or recreated.
  public mutating func forget(_ partition: Partition) {
    completions.forget(partition)
    windows.forget(partition)
  }

  /// Call it when the assignment is complete: partitions that did not come back belong to other processes.
  public mutating func removeAll() {
    completions.removeAll()
    windows.removeAll()
  }
}
