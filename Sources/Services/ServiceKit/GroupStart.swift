// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
public import Kafka

/// What the group has given to a process.
public struct GroupAssignment: Equatable {
  public var partitions: [TopicPartition]
  /// Those whose log is another one than was read: they begin at their first record, whatever is committed.
  public var atFirstRecord: Set<TopicPartition>
  /// Counts assignments of this process, from 1: what belongs to an earlier one changes nothing in this one.
  public var epoch: UInt32
}

/// Where one partition of an assignment begins.
public struct GroupStart {
  /// What the consumer is told.
  var start: PartitionStart
  /// The group's offset, if it is known and there is one.
  var committed: Int64?
  /// What is done of the partition, as far as it is known.
  var resume: ResumePoint
  /// Whether `resume` says more than the group's offset and its map: then it is committed.
  var isNews: Bool

  /// At the group's offset, which the consumer looks up; or at the first record.
  public init(_ partition: TopicPartition, atFirstRecord: Bool) {
    start = PartitionStart(partition, offset: atFirstRecord ? PartitionStart.firstRecord : nil)
    resume = ResumePoint(next: nil)
    isNews = false
  }

  /// At a point that is known; at the first record if it has no offset.
  public init(
    _ partition: TopicPartition, committed: Int64?, _ resume: ResumePoint, isNews: Bool
  ) {
    start = PartitionStart(partition, offset: resume.next ?? PartitionStart.firstRecord)
    self.committed = committed
    self.resume = resume
    self.isNews = isNews
  }
}
