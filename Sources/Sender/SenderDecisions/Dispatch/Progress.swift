// SPDX-License-Identifier: Apache-2.0

/// The progress of a partition.
public struct PartitionDone: Sendable, Equatable {
  /// One past the contiguous prefix of completed records.
  public var committable: Int64
  /// The completed offsets above it, ascending.
  public var completedAbove: [Range<Int64>]
}

/// The progress of a partition, for status displays.
public struct PartitionSnapshot: Sendable {
  public let topicKind: TopicKind
  /// Records taken and not completed.
  public let open: Int
  /// The first offset that is not complete; nil while nothing was read.
  public let committable: Int64?
  /// The time for which that has not moved, in milliseconds.
  public let headAge: UInt64
}

/// The changes of a partition since the last report.
public struct PartitionReport: Sendable {
  public let partition: Int
  /// The progress that may be committed, if it is new.
  public let done: PartitionDone?
  /// Offsets that were expected and did not come: the widest stretch since the last report.
  public let jump: Range<Int64>?
  /// Offsets went back, below what was to come: one past the highest of which anything is known.
  public let wentBackFrom: Int64?
  /// It begins without the `apns-id`s that have not been read yet.
  public let isWithoutWindow: Bool

  var isNews: Bool { done != nil || jump != nil || wentBackFrom != nil || isWithoutWindow }
}

/// When it is told how far the partitions are.
struct Progress: Sendable {
  /// When the next report is due, in monotonic milliseconds.
  private(set) var due: UInt64 = 0
  private let interval: UInt64

  init(_ settings: DispatchSettings) { interval = settings.commitInterval / 2 }

  /// True if a report is due; the next one is in some time.
  mutating func isDue(now: UInt64) -> Bool {
    guard now >= due else { return false }
    due = now + interval
    return true
  }
}

/// The figures of all partitions of a loop.
struct PartitionGauges {
  var open = 0
  var runs = 0
  var age: UInt64 = 0
  var span: Int64 = 0
  var paused = 0

  func show(_ turn: inout Turn) {
    turn.set(.openRecords, open)
    turn.set(.completedRuns, runs)
    turn.set(.oldestOpenMilliseconds, Int(clamping: age))
    turn.set(.widestSpan, Int(clamping: span))
    turn.set(.partitionsPaused, paused)
  }
}
