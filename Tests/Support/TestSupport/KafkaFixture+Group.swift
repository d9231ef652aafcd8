// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
public import Kafka

/// What a group or a log is like before the service under test starts.
extension KafkaFixture {
  /// Commits for a group that has no member yet. It joins for that, which takes some seconds.
  public func commit(
    group: String, _ partition: TopicPartition, offset: Int64, metadata: String? = nil
  ) throws {
    let consumer = try KafkaGroupConsumer(
      configuration, group: group, topics: [partition.topic], wakeup: nil)
    defer { consumer.close() }
    var queues: [KafkaQueue] = []
    defer { for queue in queues { queue.close() } }
    var isAssigned = false
    let isDone = try eventually(withinMilliseconds: 20_000) {
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

  /// Produces records to a topic of one partition of the embedded broker, which then drops the older half of them, as
  /// retention does. Returns the first offset that is left.
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
    guard producer.flush(timeoutMilliseconds: 10_000) else { throw KafkaFixtureTimeout() }
    let low = records.count / 2
    broker?.dropRecords(of: topic, before: Int64(low))
    return low
  }

  /// Ends a partition's log with a transaction's marker: an offset that is no record. Needs an embedded broker.
  public func endTransaction(on topic: String, partition: Int32 = 0) throws {
    guard let broker else { throw KafkaFixtureTimeout() }
    broker.appendMarker(to: topic, partition: partition)
  }
}
