// SPDX-License-Identifier: Apache-2.0

public struct PartitionProgress<Partition: Hashable & Sendable>: Sendable, Equatable {
  public var partition: Partition
  /// The epoch of the assignment under which it was read.
  public var epoch: UInt32
  /// One past the contiguous prefix of completed records.
  public var committable: Int64
  /// The completed offsets above it, ascending.
  public var completedAbove: [Range<Int64>]

  public init(
    _ partition: Partition, epoch: UInt32, committable: Int64, completedAbove: [Range<Int64>] = []
  ) {
    self.partition = partition
    self.epoch = epoch
    self.committable = committable
    self.completedAbove = completedAbove
  }
}

public struct PlannedCommit<Partition: Hashable & Sendable>: Sendable, Equatable {
  public var partition: Partition
  /// The next offset to read.
  public var offset: Int64
  /// The completed offsets above it, ascending.
  public var completedAbove: [Range<Int64>]
}

/// Decides which offsets of which partitions to commit, and with which maps.
///
/// Only one commit is outstanding at a time, so an older one never arrives after a newer one. Progress made while one
/// is outstanding is committed afterwards: it is numbered, not flagged, so that no completion during a commit is
/// missed.
public struct CommitState<Partition: Hashable & Sendable>: Sendable {
  private struct Entry {
    var epoch: UInt32
    var committable: Int64
    var completedAbove: [Range<Int64>]
    /// Counts the loops' reports; the commit with `committedVersion` was acknowledged.
    var version: UInt64
    var committedVersion: UInt64 = 0
    var committed: Int64
  }

  private struct Sent {
    var epoch: UInt32
    var offset: Int64
    var version: UInt64
  }

  /// The time after which an unanswered commit is given up, in milliseconds.
  public static var patience: UInt64 { 10_000 }

  private var entries: [Partition: Entry] = [:]
  private var sent: [Partition: Sent] = [:]
  private var giveUpAt: UInt64?
  /// The partitions whose last commit was refused; it is repeated until it succeeds.
  public private(set) var refusedPartitions: Set<Partition> = []

  /// Notes that a partition was assigned.
  ///
  /// - Parameters:
  ///   - committed: the group's committed offset, if any.
  ///   - start: the resume position, with the offsets known to be completed above it.
  ///   - isNews: whether `start` contains more than the committed offset and its map.
  public mutating func begin(
    _ partition: Partition, epoch: UInt32, committed: Int64?, _ start: ResumePoint, isNews: Bool
  ) {
    entries[partition] = Entry(
      epoch: epoch, committable: start.next ?? -1, completedAbove: start.completedAbove,
      version: isNews ? 1 : 0, committed: committed ?? -1)
  }

  /// Takes the loops' reports. Reports for an earlier assignment are ignored.
  public mutating func note(_ progress: [PartitionProgress<Partition>]) {
    for item in progress {
      guard var entry = entries[item.partition], entry.epoch == item.epoch,
        item.committable >= entry.committable
      else { continue }
      guard
        item.committable > entry.committable || item.completedAbove != entry.completedAbove
      else { continue }
      entry.committable = item.committable
      entry.completedAbove = item.completedAbove
      entry.version += 1
      entries[item.partition] = entry
    }
  }

  /// Offsets of a partition were removed unread: its log starts above them, so nobody reads the records below again. If
  /// no record is left, none shows that.
  public mutating func lost(_ partition: Partition, _ offsets: Range<Int64>) {
    guard var entry = entries[partition], entry.committable < offsets.upperBound else { return }
    entry.committable = offsets.upperBound
    entry.completedAbove.removeAll { $0.lowerBound < offsets.upperBound }
    entry.version += 1
    entries[partition] = entry
  }

  /// The partition's log starts again: offsets below the committed one must be committed again.
  public mutating func restart(_ partition: Partition, epoch: UInt32) {
    guard var entry = entries[partition], entry.epoch == epoch else { return }
    entry.committable = -1
    entry.committed = -1
    entry.completedAbove = []
    entries[partition] = entry
    // The answer to the commit under way is about the log before.
    sent[partition] = nil
    refusedPartitions.remove(partition)
  }

  /// The log was read to its end. A log that ends below the committed offset was replaced.
  public mutating func ended(_ partition: Partition, at end: Int64) {
    guard var entry = entries[partition], end < entry.committed else { return }
    entry.committed = -1
    entries[partition] = entry
  }

  /// The partition's log was truncated or recreated: nothing more of it is committed or remembered.
  public mutating func forget(_ partition: Partition) {
    entries[partition] = nil
    refusedPartitions.remove(partition)
  }

  /// True if a commit is unanswered for too long; `due` repeats it.
  public func isUnanswered(now: UInt64) -> Bool { giveUpAt.map { now >= $0 } ?? false }

  /// The progress since the last commit, or nothing while one is outstanding; `answered` must follow.
  public mutating func due(now: UInt64) -> [PlannedCommit<Partition>] {
    if let giveUpAt, now < giveUpAt { return [] }
    return everything(now: now)
  }

  /// The progress since the last acknowledged commit, outstanding or not: for when partitions are given up. The group's
  /// committed offset never goes back.
  public mutating func everything(now: UInt64) -> [PlannedCommit<Partition>] {
    sent.removeAll(keepingCapacity: true)
    var plans: [PlannedCommit<Partition>] = []
    for (partition, entry) in entries
    where entry.version != entry.committedVersion && entry.committable >= max(entry.committed, 0) {
      sent[partition] = Sent(epoch: entry.epoch, offset: entry.committable, version: entry.version)
      plans.append(
        PlannedCommit(
          partition: partition, offset: entry.committable, completedAbove: entry.completedAbove))
    }
    giveUpAt = plans.isEmpty ? nil : now + Self.patience
    return plans
  }

  /// The commit could not be sent; its progress is part of the next one.
  public mutating func refused() {
    sent.removeAll(keepingCapacity: true)
    giveUpAt = nil
  }

  /// The broker answered the outstanding commit and accepted these offsets; refused partitions are part of the next
  /// one.
  public mutating func answered(
    _ taken: [(partition: Partition, offset: Int64)], refused: [Partition] = []
  ) {
    giveUpAt = nil
    for partition in refused where entries[partition] != nil { refusedPartitions.insert(partition) }
    for (partition, offset) in taken {
      refusedPartitions.remove(partition)
      // From before this assignment, or the answer to a commit that was given up: it proves nothing.
      guard let commit = sent[partition], commit.offset == offset,
        var entry = entries[partition], entry.epoch == commit.epoch
      else { continue }
      entry.committed = max(entry.committed, offset)
      entry.committedVersion = max(entry.committedVersion, commit.version)
      entries[partition] = entry
    }
    sent.removeAll(keepingCapacity: true)
  }

  /// The partitions are given up: moves their completed offsets into `memory`.
  public mutating func handOver(to memory: inout CompletionMemory<Partition>) {
    for (partition, entry) in entries {
      memory.remember(
        partition, committed: entry.committed, committable: entry.committable,
        completedAbove: entry.completedAbove)
    }
    removeAll()
  }

  /// The partitions are given up or lost: nothing of them is committed any more, and no answer is expected.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    sent.removeAll(keepingCapacity: true)
    refusedPartitions.removeAll()
    giveUpAt = nil
  }
}
