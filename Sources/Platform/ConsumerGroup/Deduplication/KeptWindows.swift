// SPDX-License-Identifier: Apache-2.0

/// The dedup windows of partitions that this process has given up, kept in case they come back with the next
/// assignment, as most do: only records that another process read meanwhile must then be read again.
public struct KeptWindows<Partition: Hashable & Sendable>: Sendable {
  public struct Start: Sendable {
    /// The known ids.
    public var window: DedupWindow?
    /// The offsets of records whose ids are missing.
    public var missing: Range<Int64>
    /// Offsets at and above the resume position that the previous owner may have processed: what it sent there is newer
    /// than the records below, and comes again.
    public var ahead: Range<Int64> = 0..<0

    /// True if a log with this end can be the one that the resume position belongs to. If not, it was truncated or its
    /// topic recreated: it is read from its first record, and an id of it in the window would make a notification that
    /// was never sent count as a duplicate.
    public func isOfLog(endingAt end: Int64) -> Bool { missing.upperBound <= end }
  }

  private struct Entry {
    var window: DedupWindow
    /// The window has the ids of all records below this offset, as far back as it reaches.
    var next: Int64
  }

  private var entries: [Partition: Entry] = [:]

  public var count: Int { entries.count }

  /// Keeps the window of a partition that was given up.
  ///
  /// - Parameters:
  ///   - window: the ids of the records completed in it, without those still to be processed.
  ///   - next: the first offset that is not known to be completed.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    entries[partition] = Entry(window: window, next: next)
  }

  /// Drops the window of a partition whose log was truncated or recreated.
  public mutating func forget(_ partition: Partition) { entries[partition] = nil }

  /// Call it when the assignment is complete: partitions that did not come back belong to other processes.
  public mutating func removeAll() { entries.removeAll() }

  /// Returns the initial state of an assigned partition.
  ///
  /// - Parameter next: its resume position.
  public mutating func take(_ partition: Partition, next: Int64, capacity: Int) -> Start {
    let tail = max(0, next - Int64(capacity))..<next
    // An offset that went back means that the log was replaced, or is to be processed again.
    guard let entry = entries.removeValue(forKey: partition), next >= entry.next,
      entry.next >= tail.lowerBound, Self.isWhole(entry.window)
    else { return Start(window: nil, missing: tail) }
    return Start(window: entry.window, missing: entry.next..<next)
  }

  /// Ids that were removed again had evicted older ones. A part of a window may be missing for that reason, until new
  /// ids have filled it; if more is missing, the partition's tail is read.
  private static func isWhole(_ window: DedupWindow) -> Bool {
    !window.hasForgotten || window.count >= window.capacity - window.capacity / 8
  }
}
