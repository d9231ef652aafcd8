// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Delivery

@Suite struct RetentionGapsTests {
  private typealias Gaps = RetentionGaps<Int>

  @Test func whatLiesBelowTheStartOfTheLogIsLost() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    #expect(gaps.judge(atMost: 9) { _ in (180, 900) } == [.lost(1, 100..<180)])
    #expect(!gaps.isCurious)
  }

  /// Marks of transactions and compaction leave gaps in the middle of a log.
  @Test func gapsInsideTheLogRaiseNoAlarm() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<101)
    gaps.jumped(1, 200..<10_000)
    #expect(gaps.judge(atMost: 9) { _ in (100, 20_000) }.isEmpty)
    #expect(!gaps.isCurious)
  }

  @Test func aGapThatRetentionHasHalfReachedIsLostByHalf() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    #expect(gaps.judge(atMost: 9) { _ in (150, 900) } == [.lost(1, 100..<150)])
  }

  @Test func theAssignmentAsksAndTheFirstRecordDoesNotCountAgain() {
    var gaps = Gaps()
    gaps.begin(1, at: 100)
    #expect(gaps.judge(atMost: 9) { _ in (150, 900) } == [.lost(1, 100..<150)])
    gaps.jumped(1, 100..<160)
    #expect(gaps.judge(atMost: 9) { _ in (160, 900) } == [.lost(1, 150..<160)])
    gaps.begin(1, at: 100)
    #expect(gaps.judge(atMost: 9) { _ in (160, 900) }.isEmpty, "another assignment")
  }

  @Test func aLogThatEndsBeforeTheCommittedOffsetIsAnotherOne() {
    var gaps = Gaps()
    gaps.begin(1, at: 5_000)
    #expect(
      gaps.judge(atMost: 9) { _ in (0, 12) } == [.endsBefore(1, committed: 5_000, end: 12)])
    gaps.begin(1, at: 12)
    #expect(gaps.judge(atMost: 9) { _ in (0, 12) }.isEmpty, "read to its end")
  }

  /// A writer of transactions leaves a gap after each: asking for each would be slower than they come.
  @Test func oneAnswerServesAllQuestionsOfAPartition() {
    var gaps = Gaps()
    for gap in 0..<1_000 as Range<Int64> {
      gaps.jumped(1, (10 * gap)..<(10 * gap + 1))
      gaps.jumped(2, (10 * gap)..<(10 * gap + 1))
    }
    var asked: [Int] = []
    let found = gaps.judge(atMost: 1) { partition in
      asked.append(partition)
      return (11, 20_000)
    }
    #expect(found == [.lost(1, 0..<1), .lost(1, 10..<11)])
    #expect(asked == [1])
    #expect(gaps.judge(atMost: 8) { _ in (0, 20_000) }.isEmpty)
    #expect(!gaps.isCurious)
  }

  @Test func withoutAnAnswerTheQuestionStays() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    gaps.jumped(2, 0..<5)
    #expect(gaps.judge(atMost: 9) { _ in nil }.isEmpty)
    #expect(gaps.judge(atMost: 1) { _ in (500, 900) } == [.lost(1, 100..<180)])
    #expect(gaps.isCurious)
    #expect(gaps.judge(atMost: 1) { _ in (500, 900) } == [.lost(2, 0..<5)])
    gaps.jumped(1, 100..<180)
    gaps.dropQuestions()
    #expect(!gaps.isCurious)
  }
}
