// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import ConsumerGroup

@Suite struct RetentionGapsTests {
  private typealias Gaps = RetentionGaps<Int>

  @Test func `what lies below the start of the log is lost`() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    #expect(gaps.answered((180, 900)) == [.lost(1, 100..<180)])
    #expect(!gaps.isCurious)
  }

  /// Marks of transactions and compaction leave gaps in the middle of a log.
  @Test func `gaps inside the log raise no alarm`() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<101)
    gaps.jumped(1, 200..<10_000)
    #expect(gaps.answered((100, 20_000)).isEmpty)
    #expect(!gaps.isCurious)
  }

  @Test func `a gap that retention has half reached is lost by half`() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    #expect(gaps.answered((150, 900)) == [.lost(1, 100..<150)])
  }

  @Test func `the assignment asks and the first record does not count again`() {
    var gaps = Gaps()
    gaps.begin(1, at: 100)
    #expect(gaps.answered((150, 900)) == [.lost(1, 100..<150)])
    gaps.jumped(1, 100..<160)
    #expect(gaps.answered((160, 900)) == [.lost(1, 150..<160)])
    gaps.begin(1, at: 100)
    #expect(gaps.answered((160, 900)).isEmpty, "another assignment")
  }

  @Test func `a log that ends before the committed offset is another one`() {
    var gaps = Gaps()
    gaps.begin(1, at: 5_000)
    #expect(gaps.answered((0, 12)) == [.endsBefore(1, committed: 5_000, end: 12)])
    gaps.begin(1, at: 12)
    #expect(gaps.answered((0, 12)).isEmpty, "read to its end")
  }

  /// A writer of transactions leaves a gap after each: asking for each would be slower than they come.
  @Test func `one answer serves all questions of a partition`() {
    var gaps = Gaps()
    for gap in 0..<1_000 as Range<Int64> {
      gaps.jumped(1, (10 * gap)..<(10 * gap + 1))
      gaps.jumped(2, (10 * gap)..<(10 * gap + 1))
    }
    #expect(gaps.ask() == [1, 2])
    #expect(gaps.judge([1: (11, 20_000)]) == [.lost(1, 0..<1), .lost(1, 10..<11)])
    #expect(gaps.ask() == [2])
    #expect(gaps.judge([2: (0, 20_000)]).isEmpty)
    #expect(!gaps.isCurious)
  }

  /// Where the log began before a jump does not tell what was removed by then.
  @Test func `what comes up after the question is not answered by it`() {
    var gaps = Gaps()
    gaps.begin(1, at: 100)
    _ = gaps.ask()
    gaps.jumped(1, 120..<180)
    #expect(gaps.judge([1: (50, 900)]).isEmpty)
    #expect(gaps.isCurious)
    #expect(gaps.answered((180, 900)) == [.lost(1, 120..<180)])
  }

  @Test func `a late answer is not for the next assignment`() {
    var gaps = Gaps()
    gaps.begin(1, at: 100)
    _ = gaps.ask()
    gaps.unassigned()
    gaps.begin(1, at: 200)
    #expect(gaps.judge([1: (0, 150)]).isEmpty)
    #expect(gaps.answered((0, 250)).isEmpty)
    #expect(!gaps.isCurious)
  }

  @Test func `without an answer the question stays`() {
    var gaps = Gaps()
    gaps.jumped(1, 100..<180)
    gaps.jumped(2, 0..<5)
    #expect(gaps.ask() == [1, 2])
    #expect(gaps.judge([:]).isEmpty)
    _ = gaps.ask()
    #expect(gaps.judge([1: (500, 900)]) == [.lost(1, 100..<180)])
    #expect(gaps.isCurious)
    #expect(gaps.answered((500, 900)) == [.lost(2, 0..<5)])
  }

  @Test func `what did not come is told of after the partition was given up`() {
    var gaps = Gaps()
    gaps.begin(1, at: 100)
    gaps.jumped(1, 100..<180)
    _ = gaps.ask()
    gaps.unassigned()
    #expect(gaps.judge([1: (500, 900)]).isEmpty)
    #expect(gaps.answered((500, 900)) == [.lost(1, 100..<180)])
    #expect(!gaps.isCurious)
  }
}

extension RetentionGaps {
  /// Asks everything, and every partition's log has these ends.
  fileprivate mutating func answered(_ ends: Ends) -> [Finding] {
    judge(Dictionary(uniqueKeysWithValues: ask().map { ($0, ends) }))
  }
}
