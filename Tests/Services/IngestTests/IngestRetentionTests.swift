// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
import TestSupport
import Testing

@Suite("Ingest and records that are gone", .serialized)
struct IngestRetentionTests {
  @Test("requests that retention removed are counted as lost, and the rest is worked on")
  func retention() throws {
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
    #expect(low > 1, "the embedded broker drops the oldest beyond 5 MiB")
    let ingest = try fixture.start()
    let left = count + 1 - low
    #expect(try fixture.read(fixture.names.notifications, count: left).count == left)
    #expect(eventually { ingest.counter("lost_to_retention") == low - 1 })
    #expect(ingest.counter("lost_to_retention") == low - 1)
    #expect(ingest.counter("requests") == left)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed(requestPartitions: 1) == Int64(count + 1))
  }
}
