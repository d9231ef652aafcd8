// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct BrokerBackpressureTests {
  /// A producer to a topic of one partition on an embedded broker.
  private struct Writer {
    let fixture: KafkaFixture
    let kafka: KafkaConfiguration
    let producer: KafkaProducer
    let topic: KafkaTopic
    let name: String

    init(isEmbedded: Bool = true) throws {
      fixture = try KafkaFixture(topics: [("out", 1)], embedded: true)
      var kafka = fixture.configuration
      kafka.isEmbeddedBroker = isEmbedded
      self.kafka = kafka
      name = fixture.name("out")
      producer = try KafkaProducer(kafka)
      topic = try producer.topic(named: name)
    }

    func install(group: String?) throws {
      try BrokerBackpressure.install(
        on: producer, kafka, [.init(topic: name, group: group)], counts: [name: 1],
        wakeup: Wakeup())
    }

    /// Writes until the producer is held back; at most what the broker keeps.
    ///
    /// - Returns: how many bytes, and one past the last offset.
    func fill() throws -> (bytes: Int64, end: Int64) {
      let value = String(repeating: "x", count: 65_536)
      var (bytes, end) = (Int64(0), Int64(0))
      while !producer.isThrottled, bytes < BacklogGate.embeddedCapacity {
        end = try fixture.produce(producer, topic, key: nil, value: value).offset + 1
        bytes += Int64(value.utf8.count)
      }
      return (bytes, end)
    }

    func isThrottled() -> Bool {
      var deliveries: [Kafka.Delivery] = []
      producer.drainDeliveries(into: &deliveries)
      return producer.isThrottled
    }
  }

  @Test
  func `a writer is held back before the broker drops anything, until the readers have committed`()
    throws
  {
    let writer = try Writer()
    defer { writer.producer.close() }
    let group = writer.fixture.name("readers")
    try writer.install(group: group)
    #expect(!writer.isThrottled())
    let (bytes, end) = try writer.fill()
    #expect(writer.isThrottled() && bytes > BacklogGate.embeddedCapacity / 2)
    let reader = try KafkaGroupConsumer(
      writer.kafka, group: group, topics: [writer.name], wakeup: nil)
    defer { reader.close() }
    let partition = TopicPartition(topic: writer.name, partition: 0)
    #expect(
      try eventually(withinMilliseconds: 30_000) {
        guard case .assigned = reader.nextEvent(timeoutMilliseconds: 100) else { return false }
        _ = reader.openQueue(partition, wakeup: Wakeup())
        try reader.assign([PartitionStart(partition, offset: nil)])
        return true
      })
    #expect(writer.isThrottled(), "nobody has committed anything")
    #expect(try reader.commit([CommitRequest(partition, offset: end)]).first?.error == nil)
    #expect(eventually(withinMilliseconds: 10_000) { !writer.isThrottled() })
  }

  @Test func `a full table stays full`() throws {
    let writer = try Writer()
    defer { writer.producer.close() }
    try writer.install(group: nil)
    let (bytes, _) = try writer.fill()
    #expect(writer.isThrottled() && bytes > BacklogGate.embeddedCapacity / 2)
  }

  @Test func `a real cluster throttles no writer`() throws {
    let writer = try Writer(isEmbedded: false)
    defer { writer.producer.close() }
    try writer.install(group: writer.fixture.name("readers"))
    #expect(writer.producer.gate == nil)
    _ = try writer.fill()
    #expect(!writer.isThrottled())
  }
}
