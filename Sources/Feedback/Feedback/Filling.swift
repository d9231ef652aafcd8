// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka

/// How far the reading of all partitions is.
struct Filling {
  private static let period: UInt64 = 1_000

  /// Where each began, and where its log ended then.
  private var starts: [TopicPartition: Int64]
  private var ends: [TopicPartition: Int64] = [:]
  private var next: UInt64 = 0

  init(_ starts: [TopicPartition: Int64] = [:]) { self.starts = starts }

  /// Where the logs begin and end: the first answer counts.
  mutating func answered(_ logs: [TopicPartition: (low: Int64, high: Int64)]) {
    guard ends.isEmpty, logs.count == starts.count else { return }
    for (partition, log) in logs {
      starts[partition] = max(starts[partition] ?? 0, log.low)
      ends[partition] = log.high
    }
  }

  /// - Parameter now: monotonic milliseconds.
  mutating func isDue(_ now: UInt64) -> Bool {
    guard now >= next else { return false }
    next = now + Self.period
    return true
  }

  /// - Parameter position: the next offset to read of a partition; nil before it is read.
  func progress(_ position: (TopicPartition) -> Int64?) -> TableProgress {
    var (done, total): (Int64, Int64) = (0, 0)
    for (partition, end) in ends {
      let start = starts[partition] ?? 0
      total += max(0, end - start)
      done += max(0, min(position(partition) ?? start, end) - start)
    }
    return TableProgress(done: done, total: total)
  }
}
