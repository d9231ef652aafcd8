// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@Suite struct ChangelogTests {
  /// Reads until `isDone`, at most some seconds; returns the values of records.
  private func read(_ changelog: KafkaChangelog, until isDone: ([String]) -> Bool) -> [String] {
    var values: [String] = []
    var batch = KafkaBatch(capacity: 100)
    _ = eventually {
      changelog.poll(into: &batch)
      for index in 0..<batch.count where !batch[index].isEndOfPartition {
        values.append(ReadRecord(batch[index]).value ?? "")
      }
      batch.release()
      return isDone(values)
    }
    return values
  }

  @Test
  func `a changelog reads on from given offsets, to the ends, and says where it stands`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("table", 2)
    var ends: [Int64] = [0, 0]
    for number in 0..<20 {
      let delivery = try fixture.produce(producer, topic, key: "key-\(number)", value: "\(number)")
      ends[Int(delivery.partition)] = delivery.offset + 1
    }
    let changelog = try KafkaChangelog(
      fixture.configuration, topic: fixture.name("table"), partitions: 2, wakeup: Wakeup())
    defer { changelog.close() }
    try changelog.begin(at: [nil, nil])
    #expect(read(changelog) { $0.count == 20 }.count == 20)
    #expect(changelog.positions == ends && changelog.lost == nil)
    try changelog.begin(at: ends.map { max($0 - 2, 0) })
    #expect(read(changelog) { $0.count == 4 }.count == 4)
    #expect(changelog.positions == ends)
  }

  @Test
  func `a position that the log does not have is reported, and reading can start again`() throws {
    let fixture = try KafkaFixture(topics: [("table", 1)])
    try fixture.produce(fixture.name("table"), key: "k", value: "v")
    let changelog = try KafkaChangelog(
      fixture.configuration, topic: fixture.name("table"), partitions: 1, wakeup: Wakeup())
    defer { changelog.close() }
    try changelog.begin(at: [500])
    #expect(read(changelog) { _ in changelog.lost != nil }.isEmpty)
    #expect(changelog.lost == 0)
    try changelog.begin(at: [nil])
    #expect(read(changelog) { !$0.isEmpty } == ["v"])
  }

  @Test func `keys are put where librdkafka's producer puts them`() throws {
    let (fixture, producer, topic) = try KafkaFixture.producing("keys", 7)
    for number in 0..<20 {
      let key = "key-\(number * 7_919)"
      let delivery = try fixture.produce(producer, topic, key: key, value: "v")
      #expect(KafkaPartitioner.partition(of: Array(key.utf8), among: 7) == delivery.partition)
    }
  }

  @Test func `what an owner gives up does not reach the topic later`() throws {
    let fixture = try KafkaFixture(topics: [("table", 1)], embedded: true)
    let broker = try #require(fixture.broker)
    let producer = try KafkaProducer(fixture.configuration)
    let topic = try producer.topic(named: fixture.name("table"))
    #expect(producer.abandon() == 0)
    broker.inject(Array(repeating: .notEnoughReplicas, count: 100_000), into: .produce)
    for number in 0..<50 {
      let key = Array("\(number)".utf8)
      key.withUnsafeBytes { _ = producer.produce(topic, key: $0, value: $0, tag: UInt(number)) }
    }
    #expect(!producer.flush(timeoutMilliseconds: 300))
    #expect(producer.abandon() == 50)
    #expect(producer.outstanding == 0 && producer.outstandingBytes == 0)
    broker.clearFaults(of: .produce)
    try fixture.produce(producer, topic, key: "next", value: "owner")
    letPass(milliseconds: 500)
    #expect(try fixture.configuration.readAll(fixture.name("table")).map(\.value) == ["owner"])
    let deliveries = producer.drainDeliveries()
    #expect(deliveries.isEmpty && producer.restarts == 0)
  }
}
