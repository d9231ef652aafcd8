// SPDX-License-Identifier: Apache-2.0

/// Detects a group that starts at the first records of its whole assignment: it is new, or its offsets were deleted or
/// reset, and then it repeats all of its work.
public struct StartOfReading<Partition: Hashable & Sendable>: Sendable {
  /// Partitions of the assignment whose ends are unknown, with the group's committed offsets.
  private var open: [Partition: Int64?] = [:]
  private var unread: Int64 = 0
  /// True if some partition resumes above its first record.
  private var hasProgress = false

  /// The partitions whose ends are needed.
  public var wanted: [Partition] { Array(open.keys) }

  public mutating func begin(_ partition: Partition, committed: Int64?) {
    open[partition] = .some(committed)
  }

  /// Takes the start and end offsets of logs.
  ///
  /// - Returns: the number of records that the group has to read, once all ends are known and every partition starts at
  ///   its first record; otherwise nil.
  public mutating func judge(_ ends: [Partition: RetentionGaps<Partition>.Ends]) -> Int64? {
    if open.isEmpty { return nil }
    for (partition, committed) in open {
      guard let ends = ends[partition] else { continue }
      open[partition] = nil
      guard ends.high > ends.low else { continue }
      if let committed, committed != ends.low { hasProgress = true }
      unread += ends.high - ends.low
    }
    guard open.isEmpty else { return nil }
    defer { removeAll() }
    return hasProgress || unread == 0 ? nil : unread
  }

  public mutating func removeAll() { self = StartOfReading() }
}
