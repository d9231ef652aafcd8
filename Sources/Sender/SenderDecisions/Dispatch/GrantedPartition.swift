// SPDX-License-Identifier: Apache-2.0

public import ConsumerGroup
public import Contract

/// The kind of topic that a partition belongs to: decides its turn and when its records are due.
public enum TopicKind: Sendable, Equatable {
  case lane(Lane)
  case retries(RetryTier)

  /// True for a lane, whose notifications come for the first time.
  public var isLane: Bool { if case .lane = self { true } else { false } }
}

/// The position from which a partition is read, and the known state of its records.
public struct GrantedPartition: Sendable {
  public var topicKind: TopicKind
  /// The position from which to read, and the offsets above it that are done.
  public var resume: ResumePoint
  /// The `apns-id`s that are known: those of what was completed here when the partition was ours before.
  public var window: DedupWindow?
  /// While the window of `apns-id`s is rebuilt from the partition's tail: when to go on without it, in
  /// monotonic milliseconds. Until then nothing is taken.
  public var windowDeadline: UInt64?

  public init(
    topicKind: TopicKind, resume: ResumePoint, window: DedupWindow? = nil,
    windowDeadline: UInt64? = nil
  ) {
    self.topicKind = topicKind
    self.resume = resume
    self.window = window
    self.windowDeadline = windowDeadline
  }

  public init<Partition>(_ grant: Assignments<Partition>.Grant, _ topicKind: TopicKind) {
    self.init(
      topicKind: topicKind, resume: grant.resume, window: grant.window,
      windowDeadline: grant.windowDeadline)
  }
}
