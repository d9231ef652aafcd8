// SPDX-License-Identifier: Apache-2.0

/// The windows of `apns-id`s of partitions that this process has given back, kept for the case that they come
/// back with the next assignment, as most do: only what another process read meanwhile is then read again.
public struct KeptWindows<Partition: Hashable & Sendable>: Sendable {
  /// The state that a partition begins with.
  public struct Start: Sendable {
    /// The ids that are known.
    public var window: DedupWindow?
    /// The offsets whose records' ids are missing.
    public var missing: Range<Int64>
    /// Offsets from which reading goes on that the owner before may have got to: what it sent there is newer than what is
    /// below and comes again.
    public var ahead: Range<Int64> = 0..<0

    /// True if a log with this end can be the one that the resume position belongs to. If not it was truncated, or its
    /// topic recreated: it is read from its first record, and an id of it in the window would end a notification as a
    /// repeat that was never sent.
    ///
    /// - Parameter end: one past the log's last offset.
    public func isOfLog(endingAt end: Int64) -> Bool { missing.upperBound <= end }
  }

  private struct Entry {
    var window: DedupWindow
    /// The ids of all records below it are in the window, as far as it reaches.
    var next: Int64
  }

  private var entries: [Partition: Entry] = [:]

  public init() {}

  /// The number of windows that are kept.
  public var count: Int { entries.count }

  /// A partition was given back.
  ///
  /// - Parameters:
  ///   - window: the ids of what was completed in it, and of nothing that is still to be worked on.
  ///   - next: the first offset that is not known to be done.
  public mutating func keep(_ partition: Partition, _ window: DedupWindow, next: Int64) {
    entries[partition] = Entry(window: window, next: next)
  }

  /// The partition's log is not the one that was read.
  public mutating func forget(_ partition: Partition) { entries[partition] = nil }

  /// The assignment is complete: what did not come back is another process's.
  public mutating func removeAll() { entries.removeAll() }

  /// Takes the state that an assigned partition begins with.
  ///
  /// - Parameters:
  ///   - next: where its reading goes on.
  ///   - capacity: ids of a window.
  public mutating func take(_ partition: Partition, next: Int64, capacity: Int) -> Start {
    let tail = max(0, next - Int64(capacity))..<next
    // An offset that went back says that the log, or what is to be done of it, is another one.
    guard let entry = entries.removeValue(forKey: partition), next >= entry.next,
      entry.next >= tail.lowerBound, Self.isWhole(entry.window)
    else { return Start(window: nil, missing: tail) }
    return Start(window: entry.window, missing: entry.next..<next)
  }

  /// Ids that were taken back had pushed older ones out. A part of a window may be missing for that, until new ids
  /// have filled it; with more, its partition's tail is read.
  private static func isWhole(_ window: DedupWindow) -> Bool {
    !window.hasForgotten || window.count >= window.capacity - window.capacity / 8
  }
}
