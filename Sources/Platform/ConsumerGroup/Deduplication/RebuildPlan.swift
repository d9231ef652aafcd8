// SPDX-License-Identifier: Apache-2.0

/// In which order the tails of partitions are read again, and how few of them at a time.
///
/// What a reader holds grows with the partitions that it reads at a time, not with those that it has to read: one
/// answer to a fetch brings a part of each of them, and comes compressed. The newest part of every partition goes
/// first: most repeats come soon, and the time may be up before the rest is read.
public struct RebuildPlan<Partition: Hashable & Sendable>: Sendable {
  /// Offsets of one partition.
  public struct Stretch: Sendable, Equatable {
    public var partition: Partition
    public var offsets: Range<Int64>
    /// They are from where reading goes on: the log may end before them.
    public var isAhead: Bool

    public init(partition: Partition, offsets: Range<Int64>, isAhead: Bool = false) {
      self.partition = partition
      self.offsets = offsets
      self.isAhead = isAhead
    }
  }

  /// Partitions that are read at a time.
  public static var atATime: Int { 4 }
  /// The newest part of a partition is this part of what is to be read of it.
  private static var newestPart: Int64 { 10 }

  private var waiting: [Stretch] = []
  private var underWay: Set<Partition> = []

  /// - Parameter wanted: of each partition what is before the place where reading goes on, or what is ahead of it.
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

  /// A partition that `next` has named cannot be read now: nothing more of it is to be begun.
  public mutating func failed(_ partition: Partition) {
    underWay.remove(partition)
    waiting.removeAll { $0.partition == partition }
  }

  /// True if everything that could be read has been read.
  public var isDone: Bool { waiting.isEmpty && underWay.isEmpty }

  /// The next stretch to read; nil when enough is under way, or nothing is left.
  public mutating func next() -> Stretch? {
    guard underWay.count < Self.atATime,
      let index = waiting.firstIndex(where: { !underWay.contains($0.partition) })
    else { return nil }
    let stretch = waiting.remove(at: index)
    underWay.insert(stretch.partition)
    return stretch
  }

  /// A stretch has been read to its end, or there is nothing of it.
  ///
  /// - Returns: whether that was all of its partition.
  public mutating func finished(_ partition: Partition) -> Bool {
    underWay.remove(partition)
    return !waiting.contains { $0.partition == partition }
  }
}
