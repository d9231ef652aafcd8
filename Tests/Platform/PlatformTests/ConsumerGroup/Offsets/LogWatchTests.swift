// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup

@Suite struct LogWatchTests {
  private func start(_ partition: Int, _ committed: Int64?, next: Int64) -> GroupStart<Int> {
    GroupStart(partition, committed: committed, ResumePoint(next: next), isNews: false)
  }

  @Test func `each partition is asked about once after an assignment, one question at a time`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.begin([start(1, 5, next: 5), start(2, 7, next: 7)], remade: [])
    #expect(Set(watch.question(outputs: [], now: 0) ?? []) == [1, 2])
    watch.jumped(1, 5..<8)
    #expect(watch.question(outputs: [], now: 0) == nil, "an answer is to come")
    var (findings, strange, ended) = watch.answered([1: (0, 20), 2: (0, 20)], outputs: [])
    #expect(findings.isEmpty && strange.isEmpty && ended.isEmpty)
    #expect(watch.question(outputs: [], now: 0) == [1], "what came up meanwhile needs newer ends")
    (findings, strange, ended) = watch.answered([1: (8, 20)], outputs: [])
    #expect(findings == [.lost(1, 5..<8)] && strange == [1] && ended.isEmpty)
    #expect(watch.question(outputs: [], now: 0) == nil)
  }

  @Test func `jumps that are no losses are asked about once per second`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.jumped(1, 5..<6)
    #expect(watch.question(outputs: [], now: 10) == [1])
    _ = watch.answered([1: (0, 20)], outputs: [])
    watch.jumped(1, 7..<8)
    #expect(watch.question(outputs: [], now: 1_009) == nil)
    watch.doubts(2, at: 3)
    #expect(Set(watch.question(outputs: [], now: 1_009) ?? []) == [1, 2], "it is urgent")
    _ = watch.answered([2: (0, 20)], outputs: [])
    #expect(watch.question(outputs: [], now: 1_010) == [1])
    #expect(watch.answered([1: (8, 20)], outputs: []).findings == [.lost(1, 7..<8)])
    watch.jumped(1, 9..<10)
    #expect(watch.question(outputs: [], now: 1_011) == [1], "after a loss, more may follow")
  }

  @Test func `jumps that are open when the partitions are given up are asked about at once`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.jumped(1, 5..<6)
    #expect(watch.question(outputs: [], now: 10) == [1])
    _ = watch.answered([1: (0, 20)], outputs: [])
    watch.jumped(1, 7..<8)
    #expect(watch.question(outputs: [], now: 11) == nil)
    watch.unassigned()
    #expect(watch.question(outputs: [], now: 11) == [1])
  }

  @Test func `a log that ends before the committed offset is told of once in an assignment`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.begin([start(1, 5, next: 5)], remade: [])
    _ = watch.question(outputs: [], now: 0)
    let first = watch.answered([1: (0, 3)], outputs: [])
    #expect(first.findings == [.endsBefore(1, committed: 5, end: 3)] && first.strange == [1])
    watch.doubts(1, at: 5)
    _ = watch.question(outputs: [], now: 0)
    let second = watch.answered([1: (0, 4)], outputs: [])
    #expect(second.findings.isEmpty && second.strange == [1] && second.ended == [1])
    watch.unassigned()
    watch.doubts(1, at: 5)
    _ = watch.question(outputs: [], now: 0)
    #expect(watch.answered([1: (0, 4)], outputs: []).findings.count == 1)
  }

  @Test func `offsets that the consumer looks up are asked of the coordinator, until it answers`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.begin(
      [GroupStart(1, atFirstRecord: false), GroupStart(2, atFirstRecord: true)], remade: [])
    #expect(watch.coordinatorQuestion(now: 1) == [1])
    #expect(watch.coordinatorQuestion(now: 1) == nil)
    // The thread waits for each answer: turn after turn it would do nothing else.
    #expect(watch.coordinatorQuestion(now: 10_000) == nil)
    #expect(watch.coordinatorQuestion(now: 10_001) == [1])
    watch.committed([(1, 9)])
    #expect(watch.coordinatorQuestion(now: 30_000) == nil)
    _ = watch.question(outputs: [], now: 0)
    #expect(
      watch.answered([1: (0, 4)], outputs: []).findings == [.endsBefore(1, committed: 9, end: 4)])
  }

  @Test(arguments: [(0, false), (3, true)] as [(Int64, Bool)])
  func `a group that begins everywhere begins again if its outputs hold records`(
    records: Int64, isAgain: Bool
  ) {
    var watch = LogWatch<Int>(hasOutputs: true)
    watch.begin([start(1, nil, next: 0)], remade: [])
    #expect(watch.wantsOutputs)
    #expect(Set(watch.question(outputs: [70], now: 0) ?? []) == [1, 70])
    let found = watch.answered([1: (0, 12), 70: (0, records)], outputs: [70]).findings
    #expect(found == [.begins(records: 12, again: isAgain)] && !watch.wantsOutputs)
  }

  @Test func `outputs that nobody can tell of are given up, and the start is told as a first one`()
  {
    var watch = LogWatch<Int>(hasOutputs: true)
    watch.begin([start(1, nil, next: 0)], remade: [])
    var found: [GroupFinding<Int>] = []
    for attempt in 1...10 {
      _ = watch.question(outputs: [70], now: 0)
      found += watch.answered(attempt == 1 ? [1: (0, 12)] : [:], outputs: [70]).findings
    }
    #expect(found == [.begins(records: 12, again: false)] && !watch.wantsOutputs)
  }

  @Test func `later assignments and logs that were made again say nothing about the start`() {
    var watch = LogWatch<Int>(hasOutputs: false)
    watch.begin([start(1, nil, next: 0)], remade: [1])
    _ = watch.question(outputs: [], now: 0)
    #expect(watch.answered([1: (0, 12)], outputs: []).findings.isEmpty)
    watch.unassigned()
    watch.begin([start(1, nil, next: 0)], remade: [])
    _ = watch.question(outputs: [], now: 0)
    #expect(watch.answered([1: (0, 12)], outputs: []).findings.isEmpty)
  }
}
