// SPDX-License-Identifier: Apache-2.0
import Kafka

/// How far each partition is done and committed. Batches end in order, so a number per partition is enough.
struct OffsetBook {
  private struct Entry {
    var next: Int64?
    var committed: Int64?
    /// One past the last record that was taken.
    var seen: Int64?
  }

  private var entries: [TopicPartition: Entry] = [:]

  /// Begins a partition, wherever its first record is.
  mutating func begin(_ partition: TopicPartition) {
    entries[partition] = Entry(next: nil, committed: nil)
  }

  /// A record was taken.
  ///
  /// - Returns: the offsets between the last one and this one, if there are any.
  mutating func received(_ partition: TopicPartition, _ offset: Int64) -> Range<Int64>? {
    let expected = entries[partition]?.seen
    entries[partition]?.seen = offset + 1
    guard let expected, expected < offset else { return nil }
    return expected..<offset
  }

  /// Every record of the partition up to this offset is done.
  mutating func completed(_ partition: TopicPartition, _ offset: Int64) {
    guard let entry = entries[partition] else { return }
    entries[partition]?.next = max(entry.next ?? 0, offset + 1)
  }

  /// What is done and not committed.
  var due: [CommitRequest] {
    entries.compactMap { partition, entry in
      guard let next = entry.next, next != entry.committed else { return nil }
      return CommitRequest(partition, offset: next)
    }
  }

  /// The coordinator's answers.
  mutating func answered(_ results: [CommitResult]) {
    for result in results where result.error == nil {
      entries[result.partition]?.committed = result.offset
    }
  }

  /// The partitions were given up.
  mutating func removeAll() { entries = [:] }
}
