// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import Sender

@Suite(.serialized) struct StatisticsWatchTests {
  @Test
  func `the leader's state and the partition's place; a stall when the leader goes away`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let topic = try fixture.createTopic("lane", partitions: 1)
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    try fixture.produce(producer, try producer.topic(named: topic), key: "k", value: "v")
    var configuration = fixture.configuration
    configuration.consumer.append(("statistics.interval.ms", "100"))
    let wakeup = Wakeup()
    let consumer = try KafkaGroupConsumer(
      configuration, group: fixture.name("group"), topics: [topic], wakeup: wakeup)
    var queue: KafkaQueue?
    var watch = StatisticsWatch(Logger(service: "test", level: .error), patience: 500)
    var newest: KafkaStatistics?
    var stalls: [FetchStallWatch.Stall] = []
    func turn() throws {
      if case .assigned(let partitions)? = consumer.nextEvent(timeoutMilliseconds: 10) {
        queue = consumer.openQueue(partitions[0], wakeup: wakeup)
        try consumer.assign([PartitionStart(partitions[0], offset: 0)])
      }
      var batch = KafkaBatch(capacity: 16)
      _ = queue?.take(into: &batch, upTo: 16)
      guard let text = consumer.drainStatistics() else { return }
      newest = KafkaStatistics(try JSONParser().parse(text))
      stalls += watch.note(text, now: MonotonicClock.milliseconds())
    }
    #expect(
      try eventuallyTurning {
        newest?.partitions.first?.nextOffset == 1
      } while: {
        try turn()
      })
    #expect(newest?.brokers.map(\.state) == ["UP"])
    #expect(newest?.partitions.map(\.fetchState) == ["active"])
    #expect(stalls.isEmpty)
    try #require(fixture.broker).setDown()
    #expect(
      try eventuallyTurning {
        !stalls.isEmpty
      } while: {
        try turn()
      })
    #expect(stalls.first?.partition.topic == topic)
    #expect(stalls.first?.broker?.state != "UP")
    try #require(fixture.broker).setUp()
    queue?.close()
    consumer.close(timeoutMilliseconds: 1_000)
  }

  /// Turns until it is true, for 20 s at most.
  private func eventuallyTurning(
    _ isDone: () -> Bool, while turn: () throws -> Void
  ) throws -> Bool {
    let deadline = MonotonicClock.milliseconds() + 20_000
    while MonotonicClock.milliseconds() < deadline {
      try turn()
      if isDone() { return true }
    }
    return isDone()
  }

  @Test func `a statistic that is missing or odd counts as nothing`() throws {
    let parser = JSONParser()
    for text in ["{}", #"{"brokers":[],"topics":{"t":{"partitions":{"-1":{"partition":-1}}}}}"#] {
      #expect(
        KafkaStatistics(try parser.parse(text)) == KafkaStatistics(partitions: [], brokers: []))
    }
    var watch = StatisticsWatch(Logger(service: "test", level: .error), patience: 0)
    #expect(watch.note(nil, now: 1).isEmpty && watch.note("no JSON", now: 1).isEmpty)
  }
}
