// SPDX-License-Identifier: Apache-2.0

/// When a reader of one partition tells librdkafka that there is room for more.
///
/// librdkafka leaves a partition that holds its share of the prefetch (`PrefetchLimits`) out of fetches, and looks again
/// when a fetch is answered, or else once per second. Taking records does not make it look (version 2.0.2). So a
/// reader that finds many records waiting says so after each half of a share: at the latest when its partition is half
/// empty. A reader that keeps up says nothing.
public struct RefillMark: Sendable {
  private let records: Int
  private let bytes: Int
  private var takenRecords = 0
  private var takenBytes = 0

  /// - Parameters:
  ///   - records: a partition's share of the prefetch, at least 1: `queued.min.messages`.
  ///   - bytes: the same by size: `queued.max.messages.kbytes`, in bytes.
  public init(records: Int, bytes: Int) {
    self.records = max(records / 2, 1)
    self.bytes = max(bytes / 2, 1)
  }

  /// Counts what was taken at once; 0 records: nothing was there.
  ///
  /// - Returns: whether librdkafka is to look again.
  public mutating func take(records count: Int, bytes size: Int) -> Bool {
    takenRecords += count
    takenBytes += size
    let isDue = takenRecords >= records || takenBytes >= bytes
    if isDue || count == 0 { (takenRecords, takenBytes) = (0, 0) }
    return isDue
  }
}
