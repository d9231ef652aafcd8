// SPDX-License-Identifier: Apache-2.0

public import APNS

/// The reading of the `apns-id`s of the records before the place where partitions go on, so that their new owner recognises
/// repeats of them: in which order (`RebuildPlan`), of which log, and what has come of it.
///
/// Whoever owns it reads the stretches that `next` names and tells what comes.
public struct WindowReading<Partition: Hashable & Sendable>: Sendable {
  /// One partition's part of the work.
  public struct Want: Sendable {
    public let partition: Partition
    /// The ids that are known, and the offsets whose ids are to be read besides.
    let start: KeptWindows<Partition>.Start

    public init(_ partition: Partition, _ start: KeptWindows<Partition>.Start) {
      self.partition = partition
      self.start = start
    }
  }

  private struct Tail {
    let start: KeptWindows<Partition>.Start
    var window: RebuiltWindow
    /// The log is not the one that the place to go on is in: its records have not been sent.
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

  /// - Parameter capacity: ids of a window.
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

  /// True if every window is whole.
  public var isComplete: Bool { tails.isEmpty }
  /// True if all has been read that could be.
  public var isDone: Bool { plan.isDone }

  /// Begins again with what is not whole.
  public mutating func begin() {
    let left = wants.filter { tails[$0.partition] != nil }
    plan = RebuildPlan(
      left.map { .init(partition: $0.partition, offsets: $0.start.missing) }
        + left.filter { !$0.start.ahead.isEmpty }.map {
          .init(partition: $0.partition, offsets: $0.start.ahead, isAhead: true)
        })
  }

  /// The next stretch to read; nil when enough is under way, or nothing is left.
  public mutating func next() -> RebuildPlan<Partition>.Stretch? { plan.next() }

  /// The reading of a stretch begins in a log with this end, one past its last offset.
  ///
  /// - Returns: false if it is another log than was read before: none of its ids is taken.
  @discardableResult
  public mutating func begins(_ partition: Partition, inLogEndingAt end: Int64) -> Bool {
    guard let start = tails[partition]?.start, !start.isOfLog(endingAt: end) else { return true }
    tails[partition]?.isOfAnotherLog = true
    tails[partition]?.window = RebuiltWindow(
      kept: nil, missing: start.missing, capacity: capacity)
    return false
  }

  /// Takes in a record.
  public mutating func take(
    _ record: RebuiltWindow.Record, at offset: Int64, of partition: Partition
  ) {
    tails[partition]?.take(record, at: offset)
  }

  /// Takes in a record that says that an id is free again.
  public mutating func free(_ id: NotificationID, at offset: Int64, of partition: Partition) {
    tails[partition]?.free(id, at: offset)
  }

  /// A partition cannot be read now.
  public mutating func failed(_ partition: Partition) { plan.failed(partition) }

  /// A stretch has been read to its end.
  ///
  /// - Returns: the ids of its partition that are known by now, and whether those are all.
  public mutating func finished(_ partition: Partition) -> (ids: DedupWindow, isWhole: Bool)? {
    let isWhole = plan.finished(partition)
    guard let ids = tails[partition]?.window.window(isWhole: isWhole) else { return nil }
    if isWhole { tails[partition] = nil }
    return (ids, isWhole)
  }
}
