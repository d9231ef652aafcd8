// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

/// Ingest and records that are gone.
@Suite(.serialized) struct IngestRetentionTests {
  @Test
  func `requests that retention removed are counted as lost, and the rest is worked on`() throws {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    try fixture.request([IngestFixture.request()])
    let requests = TopicPartition(topic: fixture.names.requests, partition: 0)
    try fixture.kafka.commit(group: fixture.names.group(.ingest), requests, offset: 1)
    let count = 2_500
    // White space is part of no notification: the lanes stay small.
    let blank = String(repeating: " ", count: 3_500)
    let low = try fixture.kafka.overflow(
      fixture.names.requests,
      with: (0..<count).map { ("", IngestFixture.request(#","id":"r\#($0)""#) + blank) })
    #expect(low > 1, "the broker removed the oldest")
    let ingest = try fixture.start()
    let left = count + 1 - low
    #expect(try fixture.read(fixture.names.notifications(.first), count: left).count == left)
    #expect(eventually { ingest.counter("lost_to_retention") == low - 1 })
    #expect(ingest.counter("lost_to_retention") == low - 1)
    #expect(ingest.counter("requests") == left)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed(requestPartitions: 1) == Int64(count + 1))
  }

  @Test func `what retention removes is lost also in a partition that was empty and had no commit`()
    throws
  {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    let first = try fixture.start()
    #expect(try eventually { try fixture.commits(requestPartitions: 1) == [0] })
    #expect(first.stop() == nil)
    let count = 2_500
    let blank = String(repeating: " ", count: 3_500)
    let low = try fixture.kafka.overflow(
      fixture.names.requests,
      with: (0..<count).map { ("", IngestFixture.request(#","id":"r\#($0)""#) + blank) })
    let second = try fixture.start()
    #expect(eventually { second.counter("lost_to_retention") == low })
    #expect(second.stop() == nil)
    #expect(second.counter("lost_to_retention") == low)
  }

  @Test
  func `a log that is the same is read again from its start, and nothing is made twice`() throws {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    KafkaLog.silence()
    let ingest = try fixture.start()
    func request(_ numbers: Range<Int>) throws {
      try fixture.request(numbers.map { IngestFixture.request(#","id":"r\#($0)""#) })
    }
    try request(0..<20)
    #expect(try fixture.read(fixture.names.notifications(.first), count: 20).count == 20)
    // The table of invalid tokens may get some of them.
    fixture.kafka.broker!.inject(Array(repeating: .offsetOutOfRange, count: 10), into: .fetch)
    try request(20..<40)
    #expect(try fixture.read(fixture.names.notifications(.first), count: 40).count == 40)
    #expect(ingest.stop() == nil)
    #expect(ingest.counter("requests") == 40)
    #expect(ingest.counter("logs_cut") == 0)
    #expect(try fixture.committed(requestPartitions: 1) == 40)
  }
}
