// SPDX-License-Identifier: Apache-2.0

public import Contract

/// Reads the `apns-id`s of the records before the resume positions of partitions again, so that their new owner
/// recognizes duplicates: holds the order (`RebuildPlan`), the logs, and the ids read so far.
///
/// The owner reads the ranges that `next` returns and passes on what it reads.
public struct WindowReading<Partition: Hashable & Sendable>: Sendable {
  /// One partition's part of the work.
  public struct Want: Sendable {
    public let partition: Partition
    /// The known ids, and the offsets whose ids must be read.
    let start: KeptWindows<Partition>.Start

    public init(_ partition: Partition, _ start: KeptWindows<Partition>.Start) {
      self.partition = partition
      self.start = start
    }
  }

  private struct Tail {
    let start: KeptWindows<Partition>.Start
    var window: RebuiltWindow
    /// The log is not the one of the resume position: its records have not been sent.
    var isOfAnotherLog = false

    mutating func take(_ record: RebuiltWindow.Record, at offset: Int64) {
      if !isOfAnotherLog { window.insert(record, at: offset) }
    }

    mutating func free(_ id: NotificationID, at offset: Int64) {
      if !isOfAnotherLog { window.free(id, at: offset) }
    }
  }

  private var tails: [Partition: Tail] = [:]
  private let wants: [Want]
  private var plan = RebuildPlan<Partition>([])
  private let capacity: Int

  public init(_ wants: [Want], capacity: Int) {
    self.capacity = capacity
    self.wants = wants
    for want in wants {
      tails[want.partition] = Tail(
        start: want.start,
        window: RebuiltWindow(
          kept: want.start.window, missing: want.start.missing, capacity: capacity))
    }
    begin()
  }

  public var isComplete: Bool { tails.isEmpty }
  public var isDone: Bool { plan.isDone }

  /// Starts again with the windows that are not complete.
  public mutating func begin() {
    let left = wants.filter { tails[$0.partition] != nil }
    plan = RebuildPlan(
      left.map { .init(partition: $0.partition, offsets: $0.start.missing) }
        + left.filter { !$0.start.ahead.isEmpty }.map {
          .init(partition: $0.partition, offsets: $0.start.ahead, isAhead: true)
        })
  }

  /// The next range to read; nil when enough are being read, or none is left.
  public mutating func next() -> RebuildPlan<Partition>.Stretch? { plan.next() }

  /// Notes that the reading of a range begins in a log with this end offset.
  ///
  /// - Returns: false if it is a different log than before: none of its ids is used.
  @discardableResult
  public mutating func begins(_ partition: Partition, inLogEndingAt end: Int64) -> Bool {
    guard let start = tails[partition]?.start, !start.isOfLog(endingAt: end) else { return true }
    tails[partition]?.isOfAnotherLog = true
    tails[partition]?.window = RebuiltWindow(kept: nil, missing: start.missing, capacity: capacity)
    return false
  }

  public mutating func take(
    _ record: RebuiltWindow.Record, at offset: Int64, of partition: Partition
  ) {
    tails[partition]?.take(record, at: offset)
  }

  /// Adds a record that frees an id.
  public mutating func free(_ id: NotificationID, at offset: Int64, of partition: Partition) {
    tails[partition]?.free(id, at: offset)
  }

  public mutating func failed(_ partition: Partition) { plan.failed(partition) }

  /// Notes that a range was read to its end.
  ///
  /// - Returns: the ids of its partition known so far, and whether they are complete.
  public mutating func finished(_ partition: Partition) -> (ids: DedupWindow, isWhole: Bool)? {
    let isWhole = plan.finished(partition)
    guard let ids = tails[partition]?.window.window(isWhole: isWhole) else { return nil }
    if isWhole { tails[partition] = nil }
    return (ids, isWhole)
  }
}
