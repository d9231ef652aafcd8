// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import Kafka
import TestSupport
import Testing

/// How far a group is behind.
@Suite struct LagTests {
  @Test
  func `the answers of a coordinator that moves end no process, and the lag comes in the end`()
    throws
  {
    let fixture = try KafkaFixture(embedded: true)
    try fixture.createTopic("things", partitions: 2)
    let partitions = (0..<2 as Range<Int32>).map {
      TopicPartition(topic: fixture.name("things"), partition: $0)
    }
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let broker = try #require(fixture.broker)
    for _ in 0..<3 {
      broker.inject([.notCoordinator, .coordinatorNotAvailable], into: .offsetFetch)
      let lag = try admin.lag(of: fixture.name("group"), partitions, timeoutMilliseconds: 30_000)
      #expect(lag.mapValues(\.records) == [partitions[0]: 0, partitions[1]: 0])
    }
  }

  @Test func `a partition without a leader is left out where that will do`() throws {
    let fixture = try KafkaFixture(embedded: true)
    try fixture.createTopic("things", partitions: 2)
    let topic = fixture.name("things")
    let partitions = (0..<2 as Range<Int32>).map { TopicPartition(topic: topic, partition: $0) }
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    try #require(fixture.broker).setLeader(topic: topic, partition: 1, broker: -1)
    expectEventually {
      let lag = try? admin.lag(
        of: fixture.name("group"), partitions, timeoutMilliseconds: 2_000, needsAll: false)
      return lag?.mapValues(\.records) == [partitions[0]: 0]
    }
    #expect(throws: KafkaError.self) {
      try admin.lag(of: fixture.name("group"), partitions, timeoutMilliseconds: 2_000)
    }
  }

  /// librdkafka's own words are "Unknown partition": the topic would be created again.
  @Test func `a partition without a leader is not said to be unknown`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let place = TopicPartition(topic: fixture.name("things"), partition: 0)
    try #require(fixture.broker).setLeader(topic: place.topic, partition: 0, broker: -1)
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let questions: [() throws -> Void] = [
      { _ = try admin.watermarks(place, timeoutMilliseconds: 30_000) },
      { _ = try admin.watermarks([place], timeoutMilliseconds: 30_000) },
    ]
    for ask in questions {
      let error = #expect(throws: KafkaError.self) { try ask() }
      let text = error?.description.lowercased() ?? ""
      #expect(text.contains("\(place)") && text.contains("leader"), "\(text)")
    }
  }
}
