// SPDX-License-Identifier: Apache-2.0

/// Ensures that a group member skips nothing silently: records that retention removed unread, logs that end before the
/// committed offset, a group that starts its work over.
///
/// Asks for the start and end of logs only when offsets were not contiguous, and once for each partition after an
/// assignment; one request at a time, and one per second where jumps turn out to be no losses.
struct LogWatch<Partition: Hashable & Sendable>: Sendable {
  /// The interval between two questions to a coordinator that does not answer, in milliseconds: each holds the
  /// member's thread up until its timeout.
  private static var coordinatorInterval: UInt64 { 10_000 }
  /// The interval between two questions about jumps when the first finds no loss, in milliseconds: a transactional
  /// producer leaves a jump after each transaction.
  private static var jumpInterval: UInt64 { 1_000 }

  private var gaps = RetentionGaps<Partition>()
  private var jumpsNotBefore: UInt64 = 0
  /// Partitions whose committed offset must be fetched from the group's coordinator, and the time of the last attempt.
  private var unknown: [Partition] = []
  private var askedAt: UInt64?
  /// Partitions whose logs were found to end too early in this assignment: each is reported once, however often it is
  /// checked.
  private var cut: Set<Partition> = []
  private var start = StartOfReading<Partition>()
  /// Offsets are deleted or reset while no member runs, so only a process's first assignment can show it.
  private var isFirst = true
  /// The number of records that the group has to read from its first ones on.
  private var beginsWith: Int64?
  /// True if the group has worked before, as its outputs showed at the start; nil while unknown.
  private var hasWorked: Bool?
  /// The remaining number of queries about the outputs.
  private var outputAttempts = 10
  /// True if a query about the ends of logs is unanswered.
  private var isAsked = false

  init(hasOutputs: Bool) { hasWorked = hasOutputs ? nil : false }

  /// True while the partitions that the group writes to must be queried, too.
  var wantsOutputs: Bool { hasWorked == nil }

  // MARK: What is read

  /// Partitions were assigned and start.
  ///
  /// - Parameter remade: those whose log was replaced, which start at its first record.
  mutating func begin(_ starts: [GroupStart<Partition>], remade: Set<Partition>) {
    for start in starts {
      if let next = start.resume.next { gaps.begin(start.partition, at: next) }
      if start.position == .committed {
        unknown.append(start.partition)
      } else if !remade.contains(start.partition) {
        note(start.partition, committed: start.committed)
      }
    }
  }

  private mutating func note(_ partition: Partition, committed: Int64?) {
    if isFirst { start.begin(partition, committed: committed) }
  }

  mutating func jumped(_ partition: Partition, _ offsets: Range<Int64>) {
    gaps.jumped(partition, offsets)
  }

  /// Asks for a check whether a log still reaches as far as it was read.
  mutating func doubts(_ partition: Partition, at offset: Int64) {
    gaps.begin(partition, at: offset)
  }

  /// The partitions were given up.
  mutating func unassigned() {
    unknown = []
    cut = []
    gaps.unassigned()
    // The process may be about to end, and nobody else asks about open gaps.
    jumpsNotBefore = 0
    isFirst = false
    start.removeAll()
    beginsWith = nil
  }

  // MARK: Questions and answers

  /// The partitions whose committed offsets must be fetched from the coordinator now; `committed` takes the answer.
  /// Without one the question comes again later.
  mutating func coordinatorQuestion(now: UInt64) -> [Partition]? {
    guard !unknown.isEmpty, askedAt.map({ now >= $0 + Self.coordinatorInterval }) ?? true else {
      return nil
    }
    askedAt = now
    return unknown
  }

  /// Takes the coordinator's committed offsets; nil where there is none.
  mutating func committed(_ offsets: [(partition: Partition, offset: Int64?)]) {
    unknown = []
    askedAt = nil
    for entry in offsets {
      note(entry.partition, committed: entry.offset)
      if let offset = entry.offset { gaps.begin(entry.partition, at: offset) }
    }
  }

  /// The partitions whose ends are needed; nil if there are none, or while a query is unanswered. `answered` must
  /// follow.
  ///
  /// - Parameter outputs: the partitions that the group writes to, as far as known.
  mutating func question(outputs: [Partition], now: UInt64) -> [Partition]? {
    guard !isAsked else { return nil }
    var wanted = Set(start.wanted)
    if gaps.isCurious, now >= jumpsNotBefore || gaps.isUrgent {
      if !gaps.isUrgent { jumpsNotBefore = now + Self.jumpInterval }
      wanted.formUnion(gaps.ask())
    }
    if wantsOutputs { wanted.formUnion(outputs) }
    guard !wanted.isEmpty else { return nil }
    isAsked = true
    return Array(wanted)
  }

  /// Takes the start and end offsets of logs, as far as they could be determined.
  ///
  /// - Returns: the findings to report, the partitions whose log was replaced, and those of them whose log ends before
  ///   what is known of it.
  mutating func answered(
    _ ends: [Partition: RetentionGaps<Partition>.Ends], outputs: [Partition]
  ) -> (findings: [GroupFinding<Partition>], strange: [Partition], ended: [Partition]) {
    isAsked = false
    var findings: [GroupFinding<Partition>] = []
    var (strange, ended): ([Partition], [Partition]) = ([], [])
    for finding in gaps.judge(ends) {
      switch finding {
      case .lost(let partition, let offsets):
        strange.append(partition)
        findings.append(.lost(partition, offsets))
      case .endsBefore(let partition, let committed, let end):
        strange.append(partition)
        ended.append(partition)
        if cut.insert(partition).inserted {
          findings.append(.endsBefore(partition, committed: committed, end: end))
        }
      }
    }
    if !strange.isEmpty { jumpsNotBefore = 0 }
    if let start = judgeStart(ends, outputs) { findings.append(start) }
    return (findings, strange, ended)
  }

  private mutating func judgeStart(
    _ ends: [Partition: RetentionGaps<Partition>.Ends], _ outputs: [Partition]
  ) -> GroupFinding<Partition>? {
    if hasWorked == nil {
      let known = outputs.compactMap { ends[$0]?.high }
      outputAttempts -= 1
      if known.contains(where: { $0 > 0 }) {
        hasWorked = true
      } else if !known.isEmpty && known.count == outputs.count || outputAttempts == 0 {
        hasWorked = false
      }
    }
    beginsWith = start.judge(ends) ?? beginsWith
    guard let hasWorked, let records = beginsWith else { return nil }
    beginsWith = nil
    return .begins(records: records, again: hasWorked)
  }
}

/// A finding of a group member about the logs that it reads.
public enum GroupFinding<Partition: Hashable & Sendable>: Sendable, Equatable {
  /// These records were deleted before they were read.
  case lost(Partition, Range<Int64>)
  /// The log ends before the group's committed offset: it was truncated, or its topic recreated.
  case endsBefore(Partition, committed: Int64, end: Int64)
  /// The group starts at the first records of its whole assignment, with this many to read. `again`: it has worked
  /// before, so its offsets were deleted or reset.
  case begins(records: Int64, again: Bool)
  /// These logs were replaced: they are read from their first records.
  case remade([Partition])
}
