// SPDX-License-Identifier: Apache-2.0

/// The most that librdkafka may prefetch for one partition, so that all partitions of a process together stay within
/// one budget: librdkafka's own limits apply per partition.
///
/// A waiting record of 300 bytes takes about 0.6 KiB. A partition keeps at least 250 records, so that a fetch brings
/// many at once.
public struct PrefetchLimits: Sendable, Equatable {
  /// `queued.min.messages`, 250 … 4,000: a partition that holds this many is not fetched.
  public let records: Int
  /// `queued.max.messages.kbytes`, at least 256: the same, by size.
  public let kilobytes: Int
  /// `fetch.message.max.bytes`, 32 … 256 KiB: the most that a fetch response may have for a partition, compressed: it
  /// may become many times as much. A broker still sends a batch larger than that.
  public let answerBytes: Int

  /// Divides a process's budget.
  ///
  /// - Parameter partitions: the most that it may own; 0 counts as 1.
  public init(partitions: Int, records: Int = 16_000, bytes: Int = 32 << 20) {
    let partitions = max(partitions, 1)
    self.records = min(max(records / partitions, 250), 4_000)
    kilobytes = max((bytes >> 10) / partitions, 256)
    answerBytes = Self.answerBytes(partitions: partitions)
  }

  /// `fetch.message.max.bytes` of a process that reads this many partitions, 1 or more.
  public static func answerBytes(partitions: Int) -> Int {
    min(max((3 << 20) / partitions, 32 << 10), 256 << 10)
  }
}
