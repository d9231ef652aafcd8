// SPDX-License-Identifier: Apache-2.0

/// The partitions that the group has given to a process.
public struct GroupAssignment<Partition: Hashable & Sendable>: Equatable, Sendable {
  public var partitions: [Partition]
  /// Those whose log is another one than was read: they begin at their first record, whatever is committed.
  public var atFirstRecord: Set<Partition>
  /// Counts assignments of this process, from 1: what belongs to an earlier one changes nothing in this one.
  public var epoch: UInt32
}

/// The starting point of one partition of an assignment.
public struct GroupStart<Partition: Hashable & Sendable>: Sendable {
  /// The offset at which reading begins, as a consumer is told.
  public enum Position: Sendable, Equatable {
    /// The group's offset, which the consumer looks up.
    case committed
    /// The first record that is there, whatever the group has committed.
    case firstRecord
    case offset(Int64)
  }

  public let partition: Partition
  public let position: Position
  /// The group's offset, if it is known and there is one.
  let committed: Int64?
  /// What is done of the partition, as far as it is known.
  public let resume: ResumePoint
  /// True if `resume` says more than the group's offset and its map: then it is committed.
  let isNews: Bool

  /// Begins at the group's offset, which the consumer looks up; or at the first record.
  ///
  /// - Parameter committed: the group's offset, of a process that reads again what is below it: the group stays there until
  ///   that is done, so that no other process takes an older view for a complete one.
  public init(_ partition: Partition, atFirstRecord: Bool, committed: Int64? = nil) {
    self.partition = partition
    position = atFirstRecord ? .firstRecord : .committed
    self.committed = committed
    resume = ResumePoint(next: nil)
    isNews = false
  }

  /// Begins at a point that is known; at the first record if it has no offset.
  public init(_ partition: Partition, committed: Int64?, _ resume: ResumePoint, isNews: Bool) {
    self.partition = partition
    position = resume.next.map { .offset($0) } ?? .firstRecord
    self.committed = committed
    self.resume = resume
    self.isNews = isNews
  }
}
