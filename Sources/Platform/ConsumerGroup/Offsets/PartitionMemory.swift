// SPDX-License-Identifier: Apache-2.0

/// The memory of the partitions that a process has given back, most of which come back with the next assignment: what
/// was completed in them, and the `apns-id`s that it took. Says what an assigned partition begins with.
public struct PartitionMemory<Partition: Hashable & Sendable>: Sendable {
  /// The state that a partition begins with.
  public struct Start: Sendable {
    public var resume: ResumePoint
    /// True if the point says more than the group's offset and map do.
    public var isNews: Bool
    /// The ids to begin with, and those that are to be read; nil where there were none before.
    public var ids: KeptWindows<Partition>.Start?

    /// True if ids are to be read before the partition is.
    public var mustRead: Bool { ids.map { !$0.missing.isEmpty || !$0.ahead.isEmpty } ?? false }
  }

  /// The completions that are handed over when partitions are given back.
  public var completions = CompletionMemory<Partition>()
  private var windows = KeptWindows<Partition>()
  private let capacity: Int
  private let isRebuilding: Bool

  /// - Parameters:
  ///   - capacity: ids of a window, 0 for none.
  ///   - isRebuilding: whether ids that are not known are read again.
  public init(capacity: Int, isRebuilding: Bool = true) {
    self.capacity = capacity
    self.isRebuilding = isRebuilding
  }

  /// The state that an assigned partition begins with; what was remembered of it is used up.
  ///
  /// - Parameters:
  ///   - takesIDs: whether ids of the partition's records are remembered.
  ///   - committed: the group's offset, nil if it has none.
  ///   - map: what the map committed beside it says is done.
  ///   - logStart: the first offset of the log if that is known.
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
      // It committed some 200 ms ago, and what was done above that by then is in the map.
      let known = max(next, resume.completedAbove.last?.upperBound ?? next)
      ids.ahead = next..<known + Int64(capacity)
    }
    start.ids = ids
    return start
  }

  /// A partition was given back with these ids.
  ///
  /// - Parameter next: the first offset that is not known to be done.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    windows.keep(partition, window, next: next)
  }

  /// The partition's log is not the one that was read.
  public mutating func forget(_ partition: Partition) {
    completions.forget(partition)
    windows.forget(partition)
  }

  /// The assignment is complete: what did not come back is another process's.
  public mutating func removeAll() {
    completions.removeAll()
    windows.removeAll()
  }
}
