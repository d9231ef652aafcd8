// SPDX-License-Identifier: Apache-2.0

/// The progress of one partition.
public struct PartitionProgress<Partition: Hashable & Sendable>: Sendable, Equatable {
  public var partition: Partition
  /// The assignment it was read under.
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

/// One partition's part of a commit.
public struct PlannedCommit<Partition: Hashable & Sendable>: Sendable, Equatable {
  public var partition: Partition
  /// The next offset to read.
  public var offset: Int64
  /// The completed offsets above it, ascending.
  public var completedAbove: [Range<Int64>]
}

/// Which offsets of which partitions are to be committed, and with which maps.
///
/// One commit is outstanding at a time, so an older one never arrives after a newer one. What moves while one is
/// outstanding is due afterwards: progress is numbered, not flagged, so that a completion during a commit is not
/// forgotten until the next one.
public struct CommitState<Partition: Hashable & Sendable>: Sendable {
  private struct Entry {
    var epoch: UInt32
    var committable: Int64
    var completedAbove: [Range<Int64>]
    /// Counts what loops reported; the commit that carried `committedVersion` was acknowledged.
    var version: UInt64
    var committedVersion: UInt64 = 0
    var committed: Int64
  }

  private struct Sent {
    var epoch: UInt32
    var offset: Int64
    var version: UInt64
  }

  /// A commit whose answer has not come after this long is given up, in milliseconds.
  public static var patience: UInt64 { 10_000 }

  private var entries: [Partition: Entry] = [:]
  private var sent: [Partition: Sent] = [:]
  private var giveUpAt: UInt64?
  /// Those whose last commit was refused: it comes again until it is taken.
  public private(set) var refusedPartitions: Set<Partition> = []

  public init() {}

  /// A partition was assigned.
  ///
  /// - Parameters:
  ///   - committed: the group's offset, if it has one.
  ///   - start: where reading goes on, with what is known to be done above that.
  ///   - isNews: whether `start` says more than the group's offset and its map.
  public mutating func begin(
    _ partition: Partition, epoch: UInt32, committed: Int64?, _ start: ResumePoint, isNews: Bool
  ) {
    entries[partition] = Entry(
      epoch: epoch, committable: start.next ?? -1, completedAbove: start.completedAbove,
      version: isNews ? 1 : 0, committed: committed ?? -1)
  }

  /// Takes in what loops report. Reports of an earlier assignment are ignored.
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

  /// Offsets of a partition were removed before they were read: its log begins above them, so that nobody reads what is
  /// below again. No record says so where none is left.
  public mutating func lost(_ partition: Partition, _ offsets: Range<Int64>) {
    guard var entry = entries[partition], entry.committable < offsets.upperBound else { return }
    entry.committable = offsets.upperBound
    entry.completedAbove.removeAll { $0.lowerBound < offsets.upperBound }
    entry.version += 1
    entries[partition] = entry
  }

  /// The partition's log starts again: offsets below the committed one are to be committed again.
  public mutating func restart(_ partition: Partition, epoch: UInt32) {
    guard var entry = entries[partition], entry.epoch == epoch else { return }
    entry.committable = -1
    entry.committed = -1
    entry.completedAbove = []
    entries[partition] = entry
    refusedPartitions.remove(partition)
  }

  /// The log was read to its end. One that ends below the group's offset is another one.
  public mutating func ended(_ partition: Partition, at end: Int64) {
    guard var entry = entries[partition], end < entry.committed else { return }
    entry.committed = -1
    entries[partition] = entry
  }

  /// The partition's log is not the one that was read: nothing more of it is committed or remembered.
  public mutating func forget(_ partition: Partition) {
    entries[partition] = nil
    refusedPartitions.remove(partition)
  }

  /// True if a commit was given up: `due` repeats it.
  ///
  /// - Parameter now: monotonic milliseconds.
  public func isUnanswered(now: UInt64) -> Bool { giveUpAt.map { now >= $0 } ?? false }

  /// The progress since the last commit, or nothing while one is outstanding; then `answered` is owed.
  ///
  /// - Parameter now: monotonic milliseconds.
  public mutating func due(now: UInt64) -> [PlannedCommit<Partition>] {
    if let giveUpAt, now < giveUpAt { return [] }
    return everything(now: now)
  }

  /// The progress since the last acknowledged commit, outstanding or not: for when partitions are given back. The group's
  /// offset never goes back.
  public mutating func everything(now: UInt64) -> [PlannedCommit<Partition>] {
    sent.removeAll(keepingCapacity: true)
    var plans: [PlannedCommit<Partition>] = []
    for (partition, entry) in entries
    where entry.version != entry.committedVersion && entry.committable >= max(entry.committed, 0) {
      sent[partition] = Sent(
        epoch: entry.epoch, offset: entry.committable, version: entry.version)
      plans.append(
        PlannedCommit(
          partition: partition, offset: entry.committable, completedAbove: entry.completedAbove))
    }
    giveUpAt = plans.isEmpty ? nil : now + Self.patience
    return plans
  }

  /// The commit could not even be sent; everything comes again with the next one.
  public mutating func refused() {
    sent.removeAll(keepingCapacity: true)
    giveUpAt = nil
  }

  /// The broker answered the outstanding commit with these offsets taken; refused partitions come again with
  /// the next one.
  public mutating func answered(
    _ taken: [(partition: Partition, offset: Int64)], refused: [Partition] = []
  ) {
    giveUpAt = nil
    for partition in refused where entries[partition] != nil { refusedPartitions.insert(partition) }
    for (partition, offset) in taken {
      refusedPartitions.remove(partition)
      // Older than this assignment, or an answer that was given up: it proves nothing.
      guard let commit = sent[partition], commit.offset == offset,
        var entry = entries[partition], entry.epoch == commit.epoch
      else { continue }
      entry.committed = max(entry.committed, offset)
      entry.committedVersion = max(entry.committedVersion, commit.version)
      entries[partition] = entry
    }
    sent.removeAll(keepingCapacity: true)
  }

  /// The partitions are given back: what was done in them goes into `memory`.
  public mutating func handOver(to memory: inout CompletionMemory<Partition>) {
    for (partition, entry) in entries {
      memory.remember(
        partition, committed: entry.committed, committable: entry.committable,
        completedAbove: entry.completedAbove)
    }
    removeAll()
  }

  /// The partitions are given back or lost: nothing of them is committed any more, and no answer is owed.
  public mutating func removeAll() {
    entries.removeAll(keepingCapacity: true)
    sent.removeAll(keepingCapacity: true)
    refusedPartitions.removeAll()
    giveUpAt = nil
  }
}
