// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct OffsetRangeReaderTests {
  /// Reads until every stretch is at its end; the offsets of each, in the order they came, and the places that
  /// came to their ends.
  ///
  /// - Parameter patience: stretches of which nothing comes for so many milliseconds are given up.
  private func readAll(_ stretches: OffsetRangeReader, patience: UInt64 = 60_000) -> (
    offsets: [OffsetRangeReader.PartitionKey: [Int64]], ends: Set<OffsetRangeReader.PartitionKey>
  ) {
    var offsets: [OffsetRangeReader.PartitionKey: [Int64]] = [:]
    var ends: Set<OffsetRangeReader.PartitionKey> = []
    var batch = KafkaBatch(capacity: 1_000)
    expectEventually {
      stretches.poll(into: &batch, timeoutMilliseconds: 20)
      for index in 0..<batch.count {
        offsets[stretches.place(of: batch[index]), default: []].append(batch[index].offset)
      }
      batch.release()
      ends.formUnion(stretches.drainFinished())
      _ = stretches.drainSilent(forMilliseconds: patience)
      return stretches.isDone
    }
    return (offsets, ends)
  }

  @Test func `exactly the stretches are read`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(300, partitions: 3)
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    func read(_ partition: Int32, _ offsets: Range<Int64>) throws -> OffsetRangeReader.PartitionKey
    {
      try stretches.read(
        TopicPartition(topic: topic, partition: partition), offsets, timeoutMilliseconds: 30_000)
    }
    let (zero, two) = (try read(0, 10..<20), try read(2, 5..<6))
    let first = readAll(stretches)
    #expect(first.offsets == [zero: Array(10..<20), two: [5]])
    #expect(first.ends == [zero, two])
    // What lies before, afterwards; and what no log has.
    #expect(try read(0, -5..<10) == zero)
    let one = try read(1, 1_000_000..<1_000_010)
    let second = readAll(stretches)
    #expect(second.offsets == [zero: Array(0..<10)])
    #expect(second.ends == [zero, one])
    #expect(stretches.logEnd(zero) >= 20 && 1..<1_000_000 ~= stretches.logEnd(one))
  }

  /// Nothing else would say why nothing comes.
  @Test func `a partition that may not be read has an error`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 1)], embedded: true)
    let topic = fixture.name("numbers")
    try fixture.produce(topic, key: nil, value: "1")
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 100_000)
    fixture.broker?.inject(refusals, into: .fetch)
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    let place = try stretches.read(
      TopicPartition(topic: topic, partition: 0), 0..<1, timeoutMilliseconds: 30_000)
    #expect(stretches.lastError == nil)
    var batch = KafkaBatch(capacity: 10)
    expectEventually {
      stretches.poll(into: &batch, timeoutMilliseconds: 20)
      return stretches.lastError?.isOfAuthorization == true
    }
    #expect(!stretches.drainFinished().contains(place), "it was not read to its end")
  }

  /// A topic that was made again with fewer partitions than it had: there is nothing to wait for.
  @Test func `a partition that is not there is at its end`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 2)])
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    let place = try stretches.read(
      TopicPartition(topic: fixture.name("numbers"), partition: 7), 0..<10,
      timeoutMilliseconds: 30_000)
    #expect(!stretches.isDone)
    #expect(stretches.drainFinished() == [place])
    #expect(stretches.logEnd(place) == 0)
    #expect(stretches.isDone)
  }

  @Test func `several topics are read by one client`() throws {
    let fixture = try KafkaFixture(topics: [("numbers", 1), ("others", 1)])
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    var places: [OffsetRangeReader.PartitionKey] = []
    for topic in ["numbers", "others"] {
      try produceNumbers(fixture, fixture.name(topic), 100)
      places.append(
        try stretches.read(
          TopicPartition(topic: fixture.name(topic), partition: 0), 20..<30,
          timeoutMilliseconds: 30_000))
    }
    #expect(stretches.reading == 2)
    #expect(readAll(stretches).offsets == [places[0]: Array(20..<30), places[1]: Array(20..<30)])
    #expect(stretches.reading == 0)
  }

  @Test func `a stretch of which nothing comes is given up, and the others are read`() throws {
    KafkaLog.silence()
    let fixture = try KafkaFixture(topics: [("numbers", 2)], embedded: true)
    let broker = try #require(fixture.broker)
    let topic = fixture.name("numbers")
    // A record in each batch, so that a stretch needs several answers.
    try produceNumbers(fixture, topic, 10_000, recordsOfBatch: 1)
    broker.setRoundTrip(milliseconds: 100)
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    let places = try (0..<2 as Range<Int32>).map {
      try stretches.read(
        TopicPartition(topic: topic, partition: $0), 0..<5_000, timeoutMilliseconds: 30_000)
    }
    try broker.setLeader(topic: topic, partition: 0, broker: -1)
    #expect(readAll(stretches, patience: 15_000).ends == [places[1]])
    #expect(stretches.reading == 0)
  }

  /// In librdkafka 2.0.2 a fetcher whose queues are full sleeps for a second, however soon they are emptied: a
  /// reader would get no more each second than what may wait for it.
  @Test func `what may wait does not slow reading down`() throws {
    let (fixture, topic) = try KafkaFixture.numbers(100_000, partitions: 2)
    let stretches = try OffsetRangeReader(fixture.configuration)
    defer { stretches.close() }
    for partition in 0..<2 as Range<Int32> {
      _ = try stretches.read(
        TopicPartition(topic: topic, partition: partition), 0..<100_000,
        timeoutMilliseconds: 30_000)
    }
    let begin = MonotonicClock.milliseconds()
    let read = readAll(stretches)
    #expect(read.offsets.values.map(\.count).reduce(0, +) == 100_000)
    // At 4,000 records per second it would be 25 s.
    #expect(MonotonicClock.milliseconds() - begin < 20_000)
  }
}
