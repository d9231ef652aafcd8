// SPDX-License-Identifier: Apache-2.0
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

  /// Produces records, uncompressed, to a topic of one partition: more than the embedded broker keeps of it, which
  /// is 5 MiB. Returns the first offset that is left.
  public func overflow(
    _ topic: String, with records: [(key: String, value: String)]
  ) throws -> Int {
    var uncompressed = configuration
    uncompressed.producer = [("compression.type", "none"), ("linger.ms", "1")]
    let producer = try KafkaProducer(uncompressed)
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
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    let partition = TopicPartition(topic: topic, partition: 0)
    return Int(try admin.watermarks([partition], timeoutMilliseconds: 5_000)[0].low)
  }
}
