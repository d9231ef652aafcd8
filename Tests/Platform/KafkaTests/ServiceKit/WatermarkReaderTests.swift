// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct WatermarkReaderTests {
  private func ask(
    _ reader: WatermarkReader, _ partitions: [TopicPartition]
  ) -> WatermarkReader.Answers {
    var answer: WatermarkReader.Answers?
    reader.ask(partitions)
    expectEventually {
      answer = reader.drainAnswer()
      return answer != nil
    }
    return answer ?? [:]
  }

  @Test func `partitions without a leader do not hold up the answer about the others`() throws {
    let fixture = try KafkaFixture(topics: [("many", 30)], embedded: true)
    let broker = try #require(fixture.broker)
    let topic = fixture.name("many")
    let all = (0..<30).map { TopicPartition(topic: topic, partition: $0) }
    let reader = try WatermarkReader(fixture.configuration, ServiceContext.test(), wakeup: Wakeup())
    defer { reader.close() }
    #expect(ask(reader, all).count == 30)
    for partition in 0..<Int32(20) {
      try broker.setLeader(topic: topic, partition: partition, broker: -1)
    }
    let began = MonotonicClock.milliseconds()
    for _ in 0..<2 { #expect(Set(ask(reader, all).keys) == Set(all[20...])) }
    // A second for each of them would be 40 s.
    #expect(MonotonicClock.milliseconds() - began < 30_000)
    for partition in 0..<Int32(20) {
      try broker.setLeader(topic: topic, partition: partition, broker: 1)
    }
    expectEventually { ask(reader, all).count == 30 }
  }
}
