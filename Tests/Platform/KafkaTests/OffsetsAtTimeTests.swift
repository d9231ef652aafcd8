// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct OffsetsAtTimeTests {
  /// A reader that begins where it is told to has every record from that time on.
  @Test func `no record that is written meanwhile lies before the offset of a time`() throws {
    let partitions = 100
    let fixture = try KafkaFixture()
    let moment = WallClock.milliseconds() - 60_000
    let topic = try fixture.createTopic("receipts", partitions: partitions)
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let producer = try KafkaProducer(fixture.configuration)
    let handle = try producer.topic(named: topic)
    for number in 0..<2 * partitions {
      let key = Array("key \(number)".utf8)
      guard case .queued = producer.produce(handle, key: key, value: key, tag: 1) else {
        Issue.record("record \(number) was not taken")
        return
      }
      // The record arrives while the offsets are asked for. All that will ever be there was written after the moment.
      let offsets = try admin.offsets(all, at: moment, timeoutMilliseconds: 10_000)
      #expect(offsets.allSatisfy { $0 == 0 }, "\(offsets)")
    }
    #expect(producer.flush(timeoutMilliseconds: 10_000))
    producer.close()
  }
}
