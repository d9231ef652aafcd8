// SPDX-License-Identifier: Apache-2.0

/// Finds records that retention removed before they were read.
///
/// Offsets are missing in a log for good reasons, too: the marks of transactions take some, and compaction leaves
/// gaps. Only the start of the log tells them apart: what lies below it was removed. So a stretch that did not come
/// is a question, asked of the partition's watermarks; each lost offset is counted once.
public struct RetentionGaps<Partition: Hashable & Sendable>: Sendable {
  /// The ends of a partition's log.
  public typealias Ends = (low: Int64, high: Int64)

  public enum Finding: Sendable, Equatable {
    /// Gone before they were read.
    case lost(Partition, Range<Int64>)
    /// The log ends before the offset that the group has committed: it was cut, or the topic was made again.
    case endsBefore(Partition, committed: Int64, end: Int64)
  }

  private struct Question {
    var partition: Partition
    var expected: Int64
    /// The first offset that came; nil while nothing has.
    var came: Int64?
  }

  private var questions: [Question] = []
  /// So many of them, from the first one on, are on their way.
  private var asked = 0
  /// One past the highest offset counted as lost.
  private var counted: [Partition: Int64] = [:]

  public init() {}

  /// True if there is something to ask.
  public var isCurious: Bool { !questions.isEmpty }

  /// A partition was assigned and will be read from this offset.
  public mutating func begin(_ partition: Partition, at expected: Int64) {
    questions.append(Question(partition: partition, expected: expected, came: nil))
  }

  /// These offsets did not come.
  public mutating func jumped(_ partition: Partition, _ offsets: Range<Int64>) {
    questions.append(
      Question(partition: partition, expected: offsets.lowerBound, came: offsets.upperBound))
  }

  /// The partitions were given up; what was counted stays counted. What did not come is still to be told of: the group
  /// goes on behind it, and nobody else will ask.
  public mutating func unassigned() {
    questions.removeAll { $0.came == nil }
    asked = 0
  }

  /// The partitions that open questions are about, each once. The next `judge` is about these questions: what
  /// comes up meanwhile needs newer ends, and stays open.
  public mutating func ask() -> [Partition] {
    asked = questions.count
    var seen: Set<Partition> = []
    return questions.map(\.partition).filter { seen.insert($0).inserted }
  }

  /// Answers what was asked. Where a log begins answers all questions about its partition: who writes in
  /// transactions leaves a gap after each.
  ///
  /// - Parameter ends: the ends of the partitions' logs, found out after `ask`. Those that no broker told are
  ///   missing, and their questions stay open.
  public mutating func judge(_ ends: [Partition: Ends]) -> [Finding] {
    var findings: [Finding] = []
    var open: [Question] = []
    for (index, question) in questions.enumerated() {
      guard index < asked, let ends = ends[question.partition] else {
        open.append(question)
        continue
      }
      if let finding = judge(question, ends) { findings.append(finding) }
    }
    questions = open
    asked = 0
    return findings
  }

  private mutating func judge(_ question: Question, _ ends: Ends) -> Finding? {
    let partition = question.partition
    if question.came == nil, ends.high < question.expected {
      counted[partition] = nil
      return .endsBefore(partition, committed: question.expected, end: ends.high)
    }
    let first = max(question.expected, counted[partition] ?? 0)
    let end = min(ends.low, question.came ?? ends.low)
    guard first < end else { return nil }
    counted[partition] = end
    return .lost(partition, first..<end)
  }
}
