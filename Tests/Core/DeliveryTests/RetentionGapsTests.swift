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
