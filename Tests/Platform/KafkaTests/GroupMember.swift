// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import TestSupport

/// A member of a group, driven by the test's own thread: takes records when told to, commits what it
/// took before it gives partitions up.
final class GroupMember {
  let consumer: KafkaGroupConsumer
  let wakeup = Wakeup()
  var queues: [KafkaQueue] = []
  var owned: [TopicPartition] = []
  var taken: [String] = []
  var assignments = 0
  var revocations = 0
  var failedCommits = 0
  var errors: [KafkaError] = []
  /// The next offset of each partition that was taken from.
  var positions: [TopicPartition: Int64] = [:]
  /// Where partitions were read to their ends.
  var ends: [Int64] = []
  private var batch = KafkaBatch(capacity: 200)

  init(
    _ fixture: KafkaFixture, group: String, topic: String,
    instanceID: String? = nil, reportsEnds: Bool = false, _ configuration: KafkaConfiguration? = nil
  ) throws {
    consumer = try KafkaGroupConsumer(
      configuration ?? fixture.configuration, group: fixture.name(group), topics: [topic],
      instanceID: instanceID, reportsEnds: reportsEnds, wakeup: wakeup)
  }

  /// Serves the events that are there.
  func serve() throws {
    while let event = consumer.nextEvent() {
      switch event {
      case .assigned(let partitions): try assign(partitions)
      case .revoked(_, let lost): try revoke(lost: lost)
      case .offsetsCommitted(_, let error): if error != nil { failedCommits += 1 }
      case .error(let error), .fatal(let error): errors.append(error)
      }
    }
  }

  private func assign(_ partitions: [TopicPartition]) throws {
    assignments += 1
    owned = partitions
    let committed = try consumer.committed(partitions, timeoutMilliseconds: 30_000)
    queues = partitions.map { consumer.openQueue($0, wakeup: wakeup) }
    try consumer.assign(committed.map { PartitionStart($0.partition, offset: $0.offset ?? 0) })
  }

  private func revoke(lost: Bool) throws {
    revocations += 1
    takeAll()
    for queue in queues { queue.close() }
    queues = []
    if !lost { commit() }
    positions = [:]
    owned = []
    try consumer.unassign()
  }

  func commit() {
    let requests = positions.map { CommitRequest($0.key, offset: $0.value) }
    do { try consumer.commit(requests) } catch { failedCommits += 1 }
  }

  @discardableResult
  func take(upTo limit: Int) -> Int {
    var count = 0
    for queue in queues where !queue.isClosed {
      count += queue.take(into: &batch, upTo: limit)
      for index in 0..<batch.count where batch[index].errorCode == 0 {
        let record = batch[index]
        taken.append(String(decoding: record.value, as: UTF8.self))
        positions[TopicPartition(topic: record.topic, partition: record.partition)] =
          record.offset + 1
      }
      for index in 0..<batch.count where batch[index].isEndOfPartition {
        ends.append(batch[index].offset)
      }
      batch.release()
    }
    return count
  }

  func takeAll() { while take(upTo: 200) > 0 {} }

  func close() {
    for queue in queues { queue.close() }
    consumer.close()
  }
}

/// Produces `count` records, keys and values being their numbers from `first` on; waits for the broker.
func produceNumbers(
  _ fixture: KafkaFixture, _ topic: String, _ count: Int, from first: Int = 0,
  recordsOfBatch: Int = 10_000
) throws {
  var configuration = fixture.configuration
  configuration.producer.append(("batch.num.messages", "\(recordsOfBatch)"))
  let producer = try KafkaProducer(configuration)
  defer { producer.close() }
  let handle = try producer.topic(named: topic)
  for number in first..<(first + count) {
    let bytes = Array(String(number).utf8)
    bytes.withUnsafeBytes { bytes in
      _ = producer.produce(handle, key: bytes, value: bytes, tag: UInt(number))
    }
  }
  guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
}

extension KafkaFixture {
  /// A cluster with a topic, and a producer for it.
  static func producing(
    _ name: String, _ partitions: Int, embedded: Bool = false
  ) throws -> (KafkaFixture, KafkaProducer, KafkaTopic) {
    let fixture = try KafkaFixture(topics: [(name, partitions)], embedded: embedded)
    let producer = try KafkaProducer(fixture.configuration)
    return (fixture, producer, try producer.topic(named: fixture.name(name)))
  }

  /// A cluster with the topic `numbers`, and so many on it.
  static func numbers(_ count: Int = 0, partitions: Int = 1) throws -> (KafkaFixture, String) {
    let fixture = try KafkaFixture(topics: [("numbers", partitions)])
    let topic = fixture.name("numbers")
    if count > 0 { try produceNumbers(fixture, topic, count) }
    return (fixture, topic)
  }
}
