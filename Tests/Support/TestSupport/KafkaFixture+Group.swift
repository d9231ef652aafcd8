// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
public import Kafka

/// Prepares a group or a log before the service under test starts.
extension KafkaFixture {
  /// Commits for a group without members. It joins for that, which takes some seconds.
  public func commit(
    group: String, _ partition: TopicPartition, offset: Int64, metadata: String? = nil
  ) throws {
    let consumer = try KafkaGroupConsumer(
      configuration, group: group, topics: [partition.topic], wakeup: nil)
    defer { consumer.close() }
    var queues: [KafkaQueue] = []
    defer { for queue in queues { queue.close() } }
    var isAssigned = false
    let isDone = try eventually {
      while let event = consumer.nextEvent() {
        guard case .assigned(let partitions) = event else { continue }
        queues = partitions.map { consumer.openQueue($0, wakeup: Wakeup()) }
        try consumer.assign(partitions.map { PartitionStart($0, offset: 0) })
        isAssigned = true
      }
      guard isAssigned else { return false }
      let request = CommitRequest(partition, offset: offset, metadata: metadata)
      return try consumer.commit([request]).allSatisfy { $0.error == nil }
    }
    guard isDone else { throw KafkaFixtureTimeout() }
  }

  /// Produces records to a single-partition topic of the embedded broker, and deletes the older half, as retention
  /// does. Returns the first remaining offset.
  public func overflow(
    _ topic: String, with records: [(key: String, value: String)]
  ) throws -> Int {
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let output = try producer.topic(named: topic)
    for record in records {
      Array(record.key.utf8).withUnsafeBytes { key in
        Array(record.value.utf8).withUnsafeBytes { value in
          _ = producer.produce(output, key: key, value: value, tag: 0)
        }
      }
    }
    guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
    let low = records.count / 2
    broker?.dropRecords(of: topic, before: Int64(low))
    return low
  }

  /// Appends a transaction marker to a partition's log: an offset without a record. Needs an embedded broker.
  public func endTransaction(on topic: String, partition: Int32 = 0) throws {
    guard let broker else { throw KafkaFixtureTimeout() }
    broker.appendMarker(to: topic, partition: partition)
  }
}
