// SPDX-License-Identifier: Apache-2.0

/// Watches that a member of a group passes over nothing in silence: records that retention removed before they were read,
/// logs that end before the committed offset, a group that begins its work again.
///
/// Asks where logs begin and end only when offsets did not come as they should, and once for each partition after an
/// assignment; one question at a time.
struct LogWatch<Partition: Hashable & Sendable>: Sendable {
  private var gaps = RetentionGaps<Partition>()
  /// Partitions whose committed offset is to be asked of the group's coordinator, and when it was asked last.
  private var unknown: [Partition] = []
  private var askedAt: UInt64?
  /// Partitions whose logs were found to end too early in this assignment: each is reported once, however often it is
  /// looked at.
  private var cut: Set<Partition> = []
  private var start = StartOfReading<Partition>()
  /// Offsets are deleted or set back while no member runs, so only a process's first assignment can show it.
  private var isFirst = true
  /// Records that the group is to read from its first ones on.
  private var beginsWith: Int64?
  /// True if it has worked before, as its outputs said when the process started; nil while that is not known.
  private var hasWorked: Bool?
  /// So often the outputs are asked about.
  private var outputAttempts = 10
  /// True if an answer about the ends of logs is still to come.
  private var isAsked = false

  /// - Parameter hasOutputs: whether there are partitions that the group's work fills.
  init(hasOutputs: Bool) { hasWorked = hasOutputs ? nil : false }

  /// True while the partitions that the group's work fills are to be asked about, too.
  var wantsOutputs: Bool { hasWorked == nil }

  // MARK: What is read

  /// Partitions were assigned and begin.
  ///
  /// - Parameter remade: those whose log is another one, which begin at its first record.
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

  /// These offsets did not come.
  mutating func jumped(_ partition: Partition, _ offsets: Range<Int64>) {
    gaps.jumped(partition, offsets)
  }

  /// Whether a log reaches as far as it was read is to be looked at.
  mutating func doubts(_ partition: Partition, at offset: Int64) {
    gaps.begin(partition, at: offset)
  }

  /// The partitions were given back.
  mutating func unassigned() {
    unknown = []
    cut = []
    gaps.unassigned()
    isFirst = false
    start.removeAll()
    beginsWith = nil
  }

  // MARK: Questions and answers

  /// The partitions whose committed offsets are to be asked of the coordinator, once for each time; `committed` is the
  /// answer.
  mutating func coordinatorQuestion(now: UInt64) -> [Partition]? {
    guard !unknown.isEmpty, askedAt != now else { return nil }
    askedAt = now
    return unknown
  }

  /// Takes in what the coordinator has; nil where there is nothing.
  mutating func committed(_ offsets: [(partition: Partition, offset: Int64?)]) {
    unknown = []
    for entry in offsets {
      note(entry.partition, committed: entry.offset)
      if let offset = entry.offset { gaps.begin(entry.partition, at: offset) }
    }
  }

  /// The partitions whose ends are wanted; nil while nothing is, or while an answer is to come. `answered` is owed then.
  ///
  /// - Parameter outputs: the partitions that the group's work fills, as far as they are known.
  mutating func question(outputs: [Partition]) -> [Partition]? {
    guard !isAsked else { return nil }
    var wanted = Set(gaps.isCurious ? gaps.ask() : []).union(start.wanted)
    if wantsOutputs { wanted.formUnion(outputs) }
    guard !wanted.isEmpty else { return nil }
    isAsked = true
    return Array(wanted)
  }

  /// Takes in where logs begin and end: what of it could be found out.
  ///
  /// - Returns: what is to be reported, the partitions whose log is not what it was, and those of them whose log ends before
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

/// What a member of a group finds out about the logs that it reads.
public enum GroupFinding<Partition: Hashable & Sendable>: Sendable, Equatable {
  /// Gone before they were read.
  case lost(Partition, Range<Int64>)
  /// The log ends before the offset that the group has committed: it was cut, or its topic was made again.
  case endsBefore(Partition, committed: Int64, end: Int64)
  /// The group begins at the first records of everything that it was given, so many. `again`: it has worked before, so
  /// its offsets were deleted or set back.
  case begins(records: Int64, again: Bool)
  /// These logs are others than were read: they are begun again at their first records.
  case remade([Partition])
}
