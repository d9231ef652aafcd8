// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Records
import Store
import Testing

@testable import Scheduler

/// When the database takes what was read.
@Suite struct ScheduleBatchTests {
  private func batch(_ changes: [ScheduleChange], began: UInt64 = 1_000) -> ScheduleBatch {
    var batch = ScheduleBatch()
    batch.begin(now: began)
    for (offset, change) in changes.enumerated() {
      batch.take(
        ScheduleJob(
          source: Source(topic: 0, partition: 0), offset: Int64(offset), key: "k".exact,
          change: change, value: ""))
    }
    return batch
  }

  @Test func `many ends gather for a while, and anything else goes at once`() {
    let ends = [ScheduleChange](repeating: .end(of: nil), count: 20)
    #expect(batch([]).isDue(now: 1_000, capacity: 100))
    #expect(batch(Array(ends.dropLast())).isDue(now: 1_000, capacity: 100))
    #expect(!batch(ends).isDue(now: 1_199, capacity: 100))
    #expect(batch(ends).isDue(now: 1_200, capacity: 100))
    #expect(batch(ends).isDue(now: 1_000, capacity: 20))
    #expect(batch(ends + [.unreadable]).isDue(now: 1_000, capacity: 100))
  }

  @Test func `its time begins with its first record`() {
    var batch = batch([ScheduleChange](repeating: .end(of: nil), count: 20))
    batch.begin(now: 5_000)
    #expect(batch.isDue(now: 1_200, capacity: 100))
  }

  @Test func `a batch whose answer was lost is in the database if all its positions are`() {
    var batch = ScheduleBatch()
    batch.move(0, to: 6)
    batch.move(1, to: 9)
    #expect(!batch.isTaken([0: 6, 1: 9], over: [0: 5, 1: 9]))
    batch.unanswered = []
    #expect(batch.isTaken([0: 6, 1: 9], over: [0: 5, 1: 9]))
    #expect(batch.isTaken([0: 6, 1: 9], over: [1: 9]))
    // It was not taken, or another owner is ahead.
    #expect(!batch.isTaken([0: 5, 1: 9], over: [0: 5, 1: 9]))
    #expect(!batch.isTaken([0: 7, 1: 9], over: [0: 5, 1: 9]))
    // Nobody can say.
    #expect(!batch.isTaken([0: 6, 1: 9], over: [0: 6, 1: 9]))
  }

  @Test func `a key that ended and has another entry in one batch has ended`() {
    func job(_ offset: Int64, _ change: ScheduleChange) -> ScheduleJob {
      ScheduleJob(
        source: Source(topic: 0, partition: 0), offset: offset, key: "k".exact, change: change,
        value: "")
    }
    let kind = ScheduleRow.Kind.request(due: 1, written: 1)
    let request = ScheduleChange.value(kind, identity: 7)
    let rows = ["k".exact: ScheduleRow(offset: 0, identity: 7, kind: kind)]
    let again = ScheduleOutcome([job(1, .end(of: 7)), job(2, request)], over: rows)
    #expect(again.ended.map(\.text) == ["k"] && again.removed.isEmpty)
    #expect(again.stored.map(\.row.offset) == [2])
    let rewritten = ScheduleOutcome([job(1, request), job(2, .end(of: 7))], over: rows)
    #expect(rewritten.ended.isEmpty && rewritten.removed.map(\.text) == ["k"])
  }

  @Test func `a record that no database keeps as it is cannot be read`() throws {
    func read(_ id: String, by: String = "ann") throws -> ScheduleJob {
      let (key, value) = (Array("a:production:\(id)".utf8), Array("C1\t5\t\(by)\n".utf8))
      return try key.withUnsafeBytes { key in
        try value.withUnsafeBytes { value in
          try ScheduleJob(
            key, value, Source(topic: 0, partition: 0), 0, AudienceTopics(TopicNames()), now: 10,
            isCaughtUp: true)
        }
      }
    }
    let longest = String(repeating: "x", count: ScheduleJob.longestKey - "a:production:".count)
    #expect(try read(longest).key.utf8.count == ScheduleJob.longestKey)
    #expect(throws: RecordError.self) { try read(longest + "x") }
    #expect(throws: RecordError.self) { try read("1\0") }
    #expect(throws: RecordError.self) { try read("1", by: "ann\0") }
  }
}
