// SPDX-License-Identifier: Apache-2.0
import CRdKafka
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import TestSupport
import Testing

@Suite struct BrokerIntakeTests {
  private static let mebibyte = 1 << 20

  private func producer(to broker: EmbeddedBroker, _ more: [KafkaConfiguration.Property] = [])
    throws -> KafkaProducer
  {
    var configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "writer")
    configuration.producer = [("compression.type", "none"), ("linger.ms", "0")] + more
    return try KafkaProducer(configuration)
  }

  private func produce(
    _ count: Int, _ producer: KafkaProducer, to topic: String, bytes: Int = 250_000
  ) throws {
    let handle = try producer.topic(named: topic)
    let value = [UInt8](repeating: 120, count: bytes)
    for _ in 0..<count {
      value.withUnsafeBytes {
        _ = producer.produce(handle, key: .init(start: nil, count: 0), value: $0, tag: 0)
      }
    }
  }

  /// Commits for the group without joining it, as an operator would.
  private func commit(_ offset: Int64, of topic: String, _ group: String, _ broker: EmbeddedBroker)
    throws
  {
    let native = rd_kafka_conf_new()
    for (name, value) in [("bootstrap.servers", broker.bootstrap), ("group.id", group)] {
      _ = rd_kafka_conf_set(native, name, value, nil, 0)
    }
    let client = try #require(rd_kafka_new(RD_KAFKA_CONSUMER, native, nil, 0))
    defer { rd_kafka_destroy(client) }
    let list = rd_kafka_topic_partition_list_new(1)
    defer { rd_kafka_topic_partition_list_destroy(list) }
    rd_kafka_topic_partition_list_add(list, topic, 0).pointee.offset = offset
    #expect(rd_kafka_commit(client, list, 0) == RD_KAFKA_RESP_ERR_NO_ERROR)
  }

  @Test func `a writer waits for the reader, and nothing is dropped`() throws {
    let broker = try EmbeddedBroker([.init("things", partitions: 1, reader: "readers")])
    let writer = try producer(to: broker)
    defer { writer.close() }
    try produce(60, writer, to: "things")
    #expect(!writer.flush(timeoutMilliseconds: 1_000))
    let taken = broker.backlog.records
    #expect(taken > 10 && taken <= 20)
    #expect(broker.backlog.unread("things", 0) <= Backlog.capacity)
    while writer.outstanding > 0 {
      try commit(Int64(broker.backlog.records), of: "things", "readers", broker)
      _ = writer.flush(timeoutMilliseconds: 200)
    }
    #expect(broker.backlog.records == 60 && broker.backlog.losses.isEmpty)
  }

  @Test func `a full partition keeps nobody from another one`() throws {
    let broker = try EmbeddedBroker([
      .init("full", partitions: 1, reader: "readers"),
      .init("other", partitions: 1, reader: "more"),
    ])
    let first = try producer(to: broker)
    let second = try producer(to: broker)
    defer {
      first.close()
      second.close()
    }
    try produce(30, first, to: "full")
    #expect(!first.flush(timeoutMilliseconds: 500))
    try produce(10, second, to: "other")
    #expect(second.flush(timeoutMilliseconds: 10_000))
  }

  @Test func `a writer that gives up while it waits has written nothing`() throws {
    let broker = try EmbeddedBroker([.init("things", partitions: 1, reader: "readers")])
    var writer = try producer(to: broker)
    try produce(30, writer, to: "things")
    #expect(!writer.flush(timeoutMilliseconds: 500))
    let taken = broker.backlog.records
    writer.close()
    writer = try producer(to: broker)
    defer { writer.close() }
    try produce(1, writer, to: "things", bytes: 1)
    #expect(writer.flush(timeoutMilliseconds: 10_000))
    try commit(Int64(taken), of: "things", "readers", broker)
    try produce(1, writer, to: "things", bytes: 1)
    #expect(writer.flush(timeoutMilliseconds: 10_000))
    #expect(broker.backlog.records == taken + 2)
  }

  /// librdkafka compresses nothing for a broker that lacks old versions of a request.
  @Test func `batches come compressed`() throws {
    let broker = try EmbeddedBroker([.init("things", partitions: 1, reader: "readers")])
    let writer = try producer(to: broker, [("compression.type", "lz4")])
    defer { writer.close() }
    try produce(10, writer, to: "things")
    #expect(writer.flush(timeoutMilliseconds: 10_000))
    #expect(broker.backlog.unread("things", 0) < 250_000)
  }

  @Test func `a topic without a reader turns, and its writer never waits`() throws {
    let broker = try EmbeddedBroker([.init("ring", partitions: 1)])
    let writer = try producer(to: broker)
    defer { writer.close() }
    try produce(40, writer, to: "ring")
    #expect(writer.flush(timeoutMilliseconds: 10_000))
    #expect(broker.backlog.passed > 0 && broker.backlog.losses.isEmpty)
  }

  @Test func `a reader gets nothing of a lane while what it writes to is half full`() throws {
    let broker = try EmbeddedBroker([
      .init("lane", partitions: 1, reader: "readers", spillsInto: ["retries"]),
      .init("retries", partitions: 1, reader: "readers"),
    ])
    let writer = try producer(to: broker)
    defer { writer.close() }
    try produce(12, writer, to: "retries")
    try produce(1, writer, to: "lane", bytes: 1)
    #expect(writer.flush(timeoutMilliseconds: 10_000))
    let configuration = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "reader")
    let tail = try KafkaTail(configuration, topic: "lane", from: .beginning)
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 10)
    _ = tail.poll(into: &batch, timeoutMilliseconds: 500)
    #expect(batch.count == 0)
    try commit(12, of: "retries", "readers", broker)
    let deadline = MonotonicClock.milliseconds() + 10_000
    while batch.count == 0, MonotonicClock.milliseconds() < deadline {
      _ = tail.poll(into: &batch, timeoutMilliseconds: 100)
    }
    #expect(batch.count == 1)
    batch.release()
  }
}
