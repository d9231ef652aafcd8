// SPDX-License-Identifier: Apache-2.0

/// The most that librdkafka may hold of one partition before it is read, so that all partitions of a process together
/// stay within one budget: its own limits are for each partition.
///
/// A waiting record of 300 bytes takes about 0.6 KiB. A partition keeps at least 250 records, so that a fetch brings
/// many at once.
public struct PrefetchLimits: Sendable, Equatable {
  /// `queued.min.messages`, 250 … 4,000: a partition that holds so many is left out of fetches.
  public let records: Int
  /// `queued.max.messages.kbytes`, at least 256: the same, by size.
  public let kilobytes: Int
  /// `fetch.message.max.bytes`, 32 … 256 KiB: what one answer to a fetch may bring of a partition, as it is compressed:
  /// it may become many times as much. A broker sends a batch that is larger than that all the same.
  public let answerBytes: Int

  /// Shares of a process's budget.
  ///
  /// - Parameter partitions: all that it may own; 0 is taken as 1.
  public init(partitions: Int, records: Int = 16_000, bytes: Int = 32 << 20) {
    let partitions = max(partitions, 1)
    self.records = min(max(records / partitions, 250), 4_000)
    kilobytes = max((bytes >> 10) / partitions, 256)
    answerBytes = Self.answerBytes(partitions: partitions)
  }

  /// `fetch.message.max.bytes` of a process that reads so many partitions, 1 or more.
  public static func answerBytes(partitions: Int) -> Int {
    min(max((2 << 20) / partitions, 32 << 10), 256 << 10)
  }
}
