// SPDX-License-Identifier: Apache-2.0

/// Decides when a reader of a partition tells librdkafka that its queue has room again.
///
/// librdkafka does not fetch a partition that holds its share of the prefetch (`PrefetchLimits`), and checks again only
/// when a fetch is answered or once per second; reading records does not trigger that check (version 2.0.2). So a
/// reader that finds many waiting records triggers it after each half of a share, at the latest when its partition is
/// half empty. A reader that finds fewer and empties the queue does not.
public struct RefillMark: Sendable {
  private let records: Int64
  private let bytes: Int
  private var takenRecords: Int64 = 0
  private var takenBytes = 0
  private var nextOffset: Int64?

  /// - Parameters:
  ///   - records: a partition's share of the prefetch, at least 1: `queued.min.messages`.
  ///   - bytes: the same by size: `queued.max.messages.kbytes`, in bytes.
  public init(records: Int, bytes: Int) {
    self.records = max(Int64(records) / 2, 1)
    self.bytes = max(bytes / 2, 1)
  }

  /// Counts records read at once.
  ///
  /// - Parameters:
  ///   - count: the number of records.
  ///   - offset: the last record's offset; nil without any. The distance from the previous one counts, because a
  ///     transaction's marker occupies the queue but is never returned.
  ///   - size: the bytes of keys and values.
  ///   - isEmpty: whether the queue is now empty.
  /// - Returns: whether librdkafka should check again.
  public mutating func take(
    records count: Int, through offset: Int64?, bytes size: Int, isEmpty: Bool
  ) -> Bool {
    takenRecords += max(Int64(count), distance(to: offset))
    takenBytes += size
    let isDue = takenRecords >= records || takenBytes >= bytes
    if isDue || isEmpty { (takenRecords, takenBytes) = (0, 0) }
    return isDue
  }

  /// The distance in offsets from the last record read.
  private mutating func distance(to offset: Int64?) -> Int64 {
    guard let offset, offset >= 0 else { return 0 }
    defer { nextOffset = offset + 1 }
    guard let nextOffset, offset >= nextOffset else { return 0 }
    return offset - nextOffset + 1
  }
}
