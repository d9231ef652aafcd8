// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import ConsumerGroup

@Suite struct WindowReadingTests {
  private typealias Stretch = RebuildPlan<Int>.Stretch

  private func id(_ number: Int64) -> NotificationID {
    NotificationID(high: 3, low: UInt64(number))
  }

  private func want(
    _ partition: Int, _ missing: Range<Int64>, kept: DedupWindow? = nil
  ) -> WindowReading<Int>.Want {
    .init(partition, KeptWindows.Start(window: kept, missing: missing))
  }

  private func read(_ stretch: Stretch, _ reading: inout WindowReading<Int>) {
    for offset in stretch.offsets {
      reading.take(.init(id(offset)), at: offset, of: stretch.partition)
    }
  }

  @Test func `the newest part of each partition comes first, then the rest, and then it is whole`()
    throws
  {
    var reading = WindowReading([want(1, 0..<100), want(2, 50..<60)], capacity: 100)
    var stretches: [Stretch] = []
    var known: [Int: (count: Int, isWhole: Bool)] = [:]
    while let stretch = reading.next() {
      stretches.append(stretch)
      let isSameLog = reading.begins(stretch.partition, inLogEndingAt: 200)
      #expect(isSameLog)
      read(stretch, &reading)
      let finished = reading.finished(stretch.partition)
      let (ids, isWhole) = try #require(finished)
      known[stretch.partition] = (ids.count, isWhole)
      if stretches.count == 2 { #expect(known[1]?.count == 10 && known[1]?.isWhole == false) }
    }
    #expect(
      stretches.map(\.offsets) == [90..<100, 59..<60, 0..<90, 50..<59]
        && stretches.map(\.partition) == [1, 2, 1, 2])
    #expect(known[1]?.count == 100 && known[2]?.count == 10)
    #expect(known.values.allSatisfy { $0.isWhole } && reading.isComplete && reading.isDone)
  }

  @Test func `of another log no id is taken, and those that were kept are of nothing`() {
    var kept = DedupWindow(capacity: 100)
    for number in 0..<40 as Range<Int64> { _ = kept.insert(id(number)) }
    var reading = WindowReading([want(1, 40..<50, kept: kept)], capacity: 100)
    while let stretch = reading.next() {
      let isSameLog = reading.begins(1, inLogEndingAt: 49)
      read(stretch, &reading)
      let finished = reading.finished(1)
      #expect(!isSameLog && finished?.ids.count == 0)
    }
    #expect(reading.isComplete)
  }

  @Test func `one that cannot be read is done without being whole, and comes with the next round`()
  {
    var reading = WindowReading([want(1, 0..<10), want(2, 0..<10)], capacity: 10)
    let stretches = [reading.next(), reading.next()].compactMap(\.self)
    #expect(stretches.map(\.partition) == [1, 2] && !reading.isDone)
    reading.failed(1)
    read(stretches[1], &reading)
    _ = reading.finished(2)
    while let stretch = reading.next() {
      #expect(stretch.partition == 2)
      read(stretch, &reading)
      _ = reading.finished(2)
    }
    #expect(reading.isDone && !reading.isComplete)
    reading.begin()
    let again = reading.next()
    #expect(again?.partition == 1)
  }

  /// A seed of the simulation repeats its run.
  @Test func `the order is that of the wants`() {
    let partitions = [9, 4, 7, 1]
    var reading = WindowReading(partitions.map { want($0, 0..<5) }, capacity: 10)
    let order = (0..<4).compactMap { _ in reading.next()?.partition }
    #expect(order == partitions)
  }
}
