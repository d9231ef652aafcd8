// SPDX-License-Identifier: Apache-2.0

/// Finds a group that begins at the first records of everything that it was given: it is new, or its offsets were
/// deleted or set back, and then it does all of its work again.
public struct StartOfReading<Partition: Hashable & Sendable>: Sendable {
  /// Partitions of the assignment whose ends are not known yet, with the group's offsets.
  private var open: [Partition: Int64?] = [:]
  private var unread: Int64 = 0
  /// True if some partition goes on above its first record.
  private var hasProgress = false

  public init() {}

  /// The partitions whose ends are wanted.
  public var wanted: [Partition] { Array(open.keys) }

  /// A partition was assigned.
  ///
  /// - Parameter committed: the group's offset, if it has one.
  public mutating func begin(_ partition: Partition, committed: Int64?) {
    open[partition] = .some(committed)
  }

  /// Takes in where logs begin and end.
  ///
  /// - Returns: how many records the group is to read, once all of it is known and it begins everywhere at the first
  ///   one; otherwise nil.
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

  /// The partitions were given up.
  public mutating func removeAll() { self = StartOfReading() }
}
