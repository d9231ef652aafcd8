// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct TaggedProducerTests {
  @Test
  func `an answer brings back what the record is, and says why Kafka does not take it`() throws {
    let fixture = try KafkaFixture(embedded: true)
    try fixture.createTopic("receipts", partitions: 1)
    let producer = try TaggedProducer<String>(fixture.configuration)
    defer { producer.close() }
    let topic = try producer.topic(TopicNames(prefix: fixture.prefix).receipts)
    fixture.broker!.inject(Array(repeating: .messageTooLarge, count: 2), into: .produce)
    #expect(try producer.produce(topic, key: nil, value: [1], as: "refused"))
    var answers: [TaggedProducer<String>.Answer] = []
    expectEventually {
      answers += producer.drainAnswers()
      return answers.count == 1
    }
    #expect(answers.first?.tag == "refused" && answers.first?.refused != nil)
    #expect(answers.first?.problem?.contains("a record of 1 bytes") == true)
    #expect(try producer.produce(topic, key: [2], value: nil, as: "tombstone"))
    #expect(producer.outstanding == 1 && producer.flush(timeoutMilliseconds: 30_000))
    let stored = producer.drainAnswers()
    #expect(stored.map(\.tag) == ["tombstone"] && stored.first?.refused == nil)
    #expect(producer.outstanding == 0)
  }

  @Test func `what was abandoned has no answer, and its tags are known`() throws {
    KafkaLog.silence()
    // Nobody listens there: the records stay in the producer.
    let producer = try TaggedProducer<Int>(
      KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test"))
    defer { producer.close() }
    let topic = try producer.topic("t")
    for tag in 0..<3 { #expect(try producer.produce(topic, key: nil, value: [1], as: tag)) }
    #expect(producer.abandon().sorted() == [0, 1, 2])
    #expect(producer.outstanding == 0 && producer.drainAnswers().isEmpty)
  }
}
