// SPDX-License-Identifier: Apache-2.0

/// What has changed about a partition.
public struct PartitionReport: Sendable {
  public let partition: Int
  /// What may be committed, if that is news.
  public let done: PartitionDone?
  /// Offsets that were expected and did not come: the widest stretch since the last report.
  public let jump: Range<Int64>?
  /// Offsets went back, below what was to come: one past the highest of which anything is known.
  public let wentBackFrom: Int64?
  /// It begins without the `apns-id`s that have not been read yet.
  public let isWithoutWindow: Bool

  var isNews: Bool { done != nil || jump != nil || wentBackFrom != nil || isWithoutWindow }
}

/// How far the partitions are, told at intervals.
struct Progress: Sendable {
  /// When the next report is due, in monotonic milliseconds.
  private(set) var due: UInt64 = 0
  private let interval: UInt64

  init(_ settings: DispatchSettings) { interval = settings.commitInterval / 2 }

  /// What may be committed, and what is strange; nil while that is not due yet.
  mutating func report(_ work: inout Workload, _ turn: inout Turn) -> [PartitionReport]? {
    guard turn.now >= due else { return nil }
    due = turn.now + interval
    var reports: [PartitionReport] = []
    var gauges = Gauges()
    let reserve = work.shares.reserve
    for index in work.partitions.indices {
      let isWithoutWindow = work.partitions[index].goOnWithoutWindow(now: turn.now)
      if isWithoutWindow { turn.count(.dedupRebuildsLate) }
      let report = PartitionReport(
        partition: index, done: work.partitions[index].news(),
        jump: work.partitions[index].takeJump(),
        wentBackFrom: work.partitions[index].takeWentBackFrom(),
        isWithoutWindow: isWithoutWindow)
      if report.isNews { reports.append(report) }
      gauges.add(&work.partitions[index], reserve: reserve, now: turn.now)
    }
    gauges.show(&turn)
    return reports
  }

  /// The figures of all partitions of a loop.
  private struct Gauges {
    var open = 0
    var runs = 0
    var age: UInt64 = 0
    var span: Int64 = 0
    var paused = 0

    mutating func add(_ partition: inout PartitionState, reserve: Int, now: UInt64) {
      open += partition.open
      runs += partition.runCount
      // A paused lane is not stuck.
      if !partition.isHeld { age = max(age, partition.headAge(now: now)) }
      span = max(span, partition.span)
      if partition.windowDeadline == nil, partition.allowance(reserve: reserve) == 0 { paused += 1 }
    }

    func show(_ turn: inout Turn) {
      turn.set(.openRecords, open)
      turn.set(.completedRuns, runs)
      turn.set(.oldestOpenMilliseconds, Int(clamping: age))
      turn.set(.widestSpan, Int(clamping: span))
      turn.set(.partitionsPaused, paused)
    }
  }
}
