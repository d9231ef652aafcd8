// SPDX-License-Identifier: Apache-2.0

/// How many bytes of one partition no reader has committed yet.
///
/// The writer's own records count with their size, other writers' records, which show as gaps between the offsets, with
/// the mean of its own. The sum is kept at marks, one for every 64 KiB, and taken to be even between two of them.
public struct UnreadBytes: Sendable {
  /// What was written in all up to an offset.
  private struct Mark: Sendable {
    /// One past the last record.
    var offset: Int64
    var bytes: Int64
  }

  private static let spacing: Int64 = 64 << 10
  /// More than lie between a full partition's marks. Without a place for a new one the count errs on the safe side.
  private static let mostMarks = 256
  /// A longer gap is a topic with a history, of which the commits will tell.
  private static let longestGap: Int64 = 1 << 24

  /// What was written up to the newest acknowledged record.
  private var high = Mark(offset: 0, bytes: 0)
  /// The last mark that is committed.
  private var base = Mark(offset: 0, bytes: 0)
  /// Those after `base`, in their order.
  private var marks: [Mark] = []
  private var committed: Int64 = 0
  /// The mean size of the writer's own records, which follows the newest ones.
  private var mean: Int64 = 0

  public init() {}

  /// The estimate, in bytes.
  public var count: Int64 {
    if committed >= high.offset { return 0 }
    let next = marks.first ?? high
    let share = Double(committed - base.offset) / Double(next.offset - base.offset)
    return high.bytes - base.bytes - Int64(Double(next.bytes - base.bytes) * share)
  }

  /// The broker acknowledged a record of that many bytes, at least 0, at `offset`.
  public mutating func acknowledged(at offset: Int64, bytes: Int64) {
    mean = mean == 0 ? bytes : mean + (bytes - mean) / 64
    let gap = offset - high.offset
    // A record behind the newest one was taken for another writer's.
    high.bytes += gap < 0 ? max(0, bytes - mean) : bytes + min(gap, Self.longestGap) * mean
    high.offset = max(high.offset, offset + 1)
    let last = marks.last ?? base
    if high.bytes - last.bytes >= Self.spacing, high.offset > last.offset,
      marks.count < Self.mostMarks
    {
      marks.append(high)
    }
  }

  /// The reader group committed `offset`.
  public mutating func committed(_ offset: Int64) {
    committed = max(committed, offset)
    let passed = marks.firstIndex { $0.offset > committed } ?? marks.count
    if passed > 0 {
      base = marks[passed - 1]
      marks.removeFirst(passed)
    }
    // What others wrote is known only when a record of one's own lies behind it.
    if committed > high.offset { high.offset = committed }
    if committed == high.offset {
      marks.removeAll(keepingCapacity: true)
      base = high
    }
  }
}
