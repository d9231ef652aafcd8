// SPDX-License-Identifier: Apache-2.0

/// When a reader of one partition tells librdkafka that there is room for more.
///
/// librdkafka leaves a partition that holds its share of the prefetch (`PrefetchLimits`) out of fetches, and looks again
/// when a fetch is answered, or else once per second. Taking records does not make it look (version 2.0.2). So a
/// reader that finds many records waiting says so after each half of a share: at the latest when its partition is half
/// empty. A reader that finds less than that and empties the queue says nothing.
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

  /// Counts what was taken at once.
  ///
  /// - Parameters:
  ///   - count: how many records.
  ///   - offset: the last one's; nil without any. The distance from the one before it counts, because a transaction's
  ///     marker takes a place in the queue and is not handed over.
  ///   - size: bytes of keys and values.
  ///   - isEmpty: whether nothing is left in the queue.
  /// - Returns: whether librdkafka is to look again.
  public mutating func take(
    records count: Int, through offset: Int64?, bytes size: Int, isEmpty: Bool
  ) -> Bool {
    takenRecords += max(Int64(count), distance(to: offset))
    takenBytes += size
    let isDue = takenRecords >= records || takenBytes >= bytes
    if isDue || isEmpty { (takenRecords, takenBytes) = (0, 0) }
    return isDue
  }

  /// Places from the last record that was taken to this one.
  private mutating func distance(to offset: Int64?) -> Int64 {
    guard let offset, offset >= 0 else { return 0 }
    defer { nextOffset = offset + 1 }
    guard let nextOffset, offset >= nextOffset else { return 0 }
    return offset - nextOffset + 1
  }
}
