// SPDX-License-Identifier: Apache-2.0

/// Finds records that retention removed before they were read.
///
/// Offsets may be missing in a log for good reasons: transaction markers use some, and compaction leaves gaps. Only the
/// log start offset tells the difference: records below it were deleted. So a gap is checked against the partition's
/// watermarks; each lost offset is counted once.
public struct RetentionGaps<Partition: Hashable & Sendable>: Sendable {
  public typealias Ends = (low: Int64, high: Int64)

  public enum Finding: Sendable, Equatable {
    /// These records were deleted before they were read.
    case lost(Partition, Range<Int64>)
    /// The log ends before the group's committed offset: it was truncated, or the topic recreated.
    case endsBefore(Partition, committed: Int64, end: Int64)
  }

  private struct Question {
    var partition: Partition
    var expected: Int64
    /// The first offset received; nil if there was none yet.
    var came: Int64?
  }

  private var questions: [Question] = []
  /// The number of questions, from the first one on, that are being asked.
  private var asked = 0
  /// One past the highest offset counted as lost.
  private var counted: [Partition: Int64] = [:]

  public var isCurious: Bool { !questions.isEmpty }
  /// Whether there are questions about more than jumps.
  var isUrgent: Bool { questions.contains { $0.came == nil } }

  public mutating func begin(_ partition: Partition, at expected: Int64) {
    questions.append(Question(partition: partition, expected: expected, came: nil))
  }

  public mutating func jumped(_ partition: Partition, _ offsets: Range<Int64>) {
    questions.append(
      Question(partition: partition, expected: offsets.lowerBound, came: offsets.upperBound))
  }

  /// The partitions were given up; counts are kept. Open gaps must still be reported: the group continues behind them,
  /// and nobody else will ask.
  public mutating func unassigned() {
    questions.removeAll { $0.came == nil }
    asked = 0
  }

  /// The partitions with open questions, each once. The next `judge` answers these questions: later ones need newer
  /// ends, and stay open.
  public mutating func ask() -> [Partition] {
    asked = questions.count
    var seen: Set<Partition> = []
    return questions.map(\.partition).filter { seen.insert($0).inserted }
  }

  /// Answers the questions asked. The log start offset answers all questions about its partition: a transactional
  /// producer leaves a gap after each transaction.
  ///
  /// - Parameter ends: the watermarks of the partitions, fetched after `ask`. Partitions whose broker did not answer
  ///   are missing, and their questions stay open.
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
