// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct StretchTests {
  /// Reads until every stretch is at its end; the offsets of each partition, in the order they came.
  private func readAll(_ stretches: KafkaStretches) -> (offsets: [Int32: [Int64]], ends: [Int32]) {
    var offsets: [Int32: [Int64]] = [:]
    var ends: [Int32] = []
    var batch = KafkaBatch(capacity: 1_000)
    #expect(
      eventually {
        stretches.poll(into: &batch, timeoutMilliseconds: 20)
        for index in 0..<batch.count {
          offsets[batch[index].partition, default: []].append(batch[index].offset)
        }
        batch.release()
        ends += stretches.takeFinished()
        return stretches.isDone
      })
    return (offsets, ends.sorted())
  }

  private func stretches(_ fixture: KafkaFixture, _ topic: String) throws -> KafkaStretches {
    try KafkaStretches(fixture.configuration, topic: topic, timeoutMilliseconds: 5_000)
  }

  @Test func exactlyTheStretchesAreRead() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 3)])
    let topic = fixture.name("numbers")
    try produceNumbers(fixture, topic, 300)
    let stretches = try stretches(fixture, topic)
    defer { stretches.close() }
    try stretches.read(0, 10..<20, timeoutMilliseconds: 5_000)
    try stretches.read(2, 5..<6, timeoutMilliseconds: 5_000)
    let first = readAll(stretches)
    #expect(first.offsets == [0: Array(10..<20), 2: [5]])
    #expect(first.ends == [0, 2])
    // What lies before, afterwards; and what no log has.
    try stretches.read(0, -5..<10, timeoutMilliseconds: 5_000)
    try stretches.read(1, 1_000_000..<1_000_010, timeoutMilliseconds: 5_000)
    let second = readAll(stretches)
    #expect(second.offsets == [0: Array(0..<10)])
    #expect(second.ends == [0, 1])
  }

  /// In librdkafka 2.0.2 a fetcher whose queues are full sleeps for a second, however soon they are emptied: a
  /// reader with a small share of the process's memory would get no more than that share each second.
  @Test func aSmallPrefetchDoesNotSlowReadingDown() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 2)])
    let topic = fixture.name("numbers")
    try produceNumbers(fixture, topic, 20_000)
    var configuration = fixture.configuration
    configuration.dividePrefetch(among: 100, records: 100, bytes: 100 << 10)
    let stretches = try KafkaStretches(configuration, topic: topic, timeoutMilliseconds: 5_000)
    defer { stretches.close() }
    for partition in 0..<2 as Range<Int32> {
      try stretches.read(partition, 0..<20_000, timeoutMilliseconds: 5_000)
    }
    let begin = MonotonicClock.milliseconds()
    let read = readAll(stretches)
    #expect(read.offsets.values.map(\.count).reduce(0, +) == 20_000)
    // At 250 records a second and partition it would be 40 s.
    #expect(MonotonicClock.milliseconds() - begin < 10_000)
  }
}
