// SPDX-License-Identifier: Apache-2.0

public struct GroupAssignment<Partition: Hashable & Sendable>: Equatable, Sendable {
  public var partitions: [Partition]
  /// The partitions whose log was replaced: they start at their first record, whatever is committed.
  public var atFirstRecord: Set<Partition>
  /// Counts assignments of this process, from 1; events of an earlier one are ignored.
  public var epoch: UInt32
}

public struct GroupStart<Partition: Hashable & Sendable>: Sendable {
  /// The offset at which reading starts, as the consumer is told.
  public enum Position: Sendable, Equatable {
    /// The group's committed offset, which the consumer looks up.
    case committed
    /// The first record of the log, whatever the group has committed.
    case firstRecord
    case offset(Int64)
  }

  public let partition: Partition
  public let position: Position
  /// The group's committed offset, if known.
  let committed: Int64?
  /// The completed offsets of the partition, as far as known.
  public let resume: ResumePoint
  /// True if `resume` contains more than the committed offset and its map; it is committed then.
  let isNews: Bool

  /// Starts at the group's committed offset, which the consumer looks up, or at the first record.
  ///
  /// - Parameter committed: the committed offset, for a process that reads the records below it again: the offset stays
  ///   there until that is done, so that no other process takes an older view for a complete one.
  public init(_ partition: Partition, atFirstRecord: Bool, committed: Int64? = nil) {
    self.partition = partition
    position = atFirstRecord ? .firstRecord : .committed
    self.committed = committed
    resume = ResumePoint(next: nil)
    isNews = false
  }

  /// Starts at a known point, or at the first record if it has no offset.
  public init(_ partition: Partition, committed: Int64?, _ resume: ResumePoint, isNews: Bool) {
    self.partition = partition
    position = resume.next.map { .offset($0) } ?? .firstRecord
    self.committed = committed
    self.resume = resume
    self.isNews = isNews
  }
}
