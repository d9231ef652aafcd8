// SPDX-License-Identifier: Apache-2.0

/// The order in which the tails of partitions are read again, and how few of them at a time.
///
/// A reader's memory grows with the partitions that it reads at a time, not with those that it has to read: one fetch
/// response holds a part of each of them, compressed. The newest part of every partition goes first: most duplicates
/// come soon, and the time may be up before the rest is read.
public struct RebuildPlan<Partition: Hashable & Sendable>: Sendable {
  public struct Stretch: Sendable, Equatable {
    public var partition: Partition
    public var offsets: Range<Int64>
    /// True if the range starts at the resume position: the log may end before it.
    public var isAhead = false
  }

  public static var atATime: Int { 4 }
  /// The divisor of a partition's range that gives the size of its newest part.
  private static var newestPart: Int64 { 10 }

  private var waiting: [Stretch] = []
  private var underWay: Set<Partition> = []

  /// - Parameter wanted: for each partition, the range before its resume position or the range ahead of it.
  public init(_ wanted: [Stretch]) {
    var older = wanted.filter(\.isAhead)
    for stretch in wanted where !stretch.isAhead {
      let newest = Self.newest(of: stretch.offsets)
      waiting.append(Stretch(partition: stretch.partition, offsets: newest))
      guard newest != stretch.offsets else { continue }
      let rest = stretch.offsets.lowerBound..<newest.lowerBound
      older.append(Stretch(partition: stretch.partition, offsets: rest))
    }
    waiting += older
  }

  /// The newest of these offsets, which are read first.
  static func newest(of offsets: Range<Int64>) -> Range<Int64> {
    let count = max(1, (offsets.upperBound - offsets.lowerBound) / newestPart)
    return max(offsets.lowerBound, offsets.upperBound - count)..<offsets.upperBound
  }

  /// Notes that a partition which `next` returned cannot be read now: no further range of it is started.
  public mutating func failed(_ partition: Partition) {
    underWay.remove(partition)
    waiting.removeAll { $0.partition == partition }
  }

  /// True if everything readable has been read.
  public var isDone: Bool { waiting.isEmpty && underWay.isEmpty }

  /// The next range to read; nil when enough are being read, or none is left.
  public mutating func next() -> Stretch? {
    guard underWay.count < Self.atATime,
      let index = waiting.firstIndex(where: { !underWay.contains($0.partition) })
    else { return nil }
    let stretch = waiting.remove(at: index)
    underWay.insert(stretch.partition)
    return stretch
  }

  /// Notes that a range was read to its end, or is empty.
  ///
  /// - Returns: whether it was the partition's last.
  public mutating func finished(_ partition: Partition) -> Bool {
    underWay.remove(partition)
    return !waiting.contains { $0.partition == partition }
  }
}
