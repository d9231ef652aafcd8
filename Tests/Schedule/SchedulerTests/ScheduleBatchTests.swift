// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Identity
import Schedule
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
}
