// SPDX-License-Identifier: Apache-2.0
import Kafka

/// Which offsets of which partitions are to be committed. One commit is outstanding at a time, so an older
/// one never arrives after a newer one.
struct CommitState {
  private struct Entry {
    var epoch: UInt32
    var committable: Int64
    var committed: Int64
    var completedAbove: [Range<Int64>] = []
  }

  private var entries: [TopicPartition: Entry] = [:]
  private var isOutstanding = false

  /// A partition was assigned.
  ///
  /// - Parameters:
  ///   - committed: the group's offset, if it has one.
  ///   - next: where reading goes on; above `committed` if more is known to be done.
  mutating func begin(_ partition: TopicPartition, epoch: UInt32, committed: Int64?, next: Int64?) {
    entries[partition] = Entry(
      epoch: epoch, committable: next ?? -1, committed: committed ?? -1)
  }

  /// Takes in what loops report. Reports of an earlier assignment are ignored.
  mutating func note(_ progress: [PartitionProgress]) {
    for item in progress {
      guard var entry = entries[item.partition], entry.epoch == item.epoch else { continue }
      entry.committable = max(entry.committable, item.committable)
      entry.completedAbove = item.completedAbove
      entries[item.partition] = entry
    }
  }

  /// What moved since the last commit, or nothing while one is outstanding.
  mutating func due() -> [CommitRequest] {
    if isOutstanding { return [] }
    let offsets = everything()
    isOutstanding = !offsets.isEmpty
    return offsets
  }

  /// What moved since the last acknowledged commit.
  func everything() -> [CommitRequest] {
    entries.compactMap { partition, entry in
      entry.committable > entry.committed
        ? CommitRequest(partition, offset: entry.committable) : nil
    }
  }

  /// The broker answered the outstanding commit; refused partitions come again with the next one.
  mutating func answered(_ results: [CommitResult]) {
    isOutstanding = false
    for result in results where result.error == nil {
      guard var entry = entries[result.partition] else { continue }
      entry.committed = max(entry.committed, result.offset)
      entries[result.partition] = entry
    }
  }

  /// The partitions are given back: what was done in them goes into `memory`.
  mutating func handOver(to memory: inout CompletionMemory) {
    for (partition, entry) in entries {
      memory.remember(
        partition, committed: entry.committed, committable: entry.committable,
        completedAbove: entry.completedAbove)
    }
    entries.removeAll(keepingCapacity: true)
    isOutstanding = false
  }
}
