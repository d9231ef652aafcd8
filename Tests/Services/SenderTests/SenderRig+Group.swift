// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
import TestSupport

@testable import Sender

extension SenderRig {
  /// Commits for the senders' group, before one of them starts.
  func commit(offset: Int64, metadata: String?) throws {
    let consumer = try KafkaGroupConsumer(
      fixture.configuration, group: names.group(.sender), topics: [names.notifications],
      wakeup: nil)
    defer { consumer.close() }
    let partition = TopicPartition(topic: names.notifications, partition: 0)
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

  /// Produces more than the embedded broker keeps of a partition; returns the first offset that is left.
  func overflow(count: Int, bodyBytes: Int) throws -> Int {
    var configuration = fixture.configuration
    configuration.producer = [("compression.type", "none"), ("linger.ms", "1")]
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: names.notifications)
    let filler = String(repeating: "x", count: bodyBytes)
    for number in 1...count {
      let value = Self.envelope(id: Self.id(number), body: #"{"aps":{"alert":"\#(filler)"}}"#)
      fixture.withRecord(Self.token(1), value) { key, value in
        _ = producer.produce(topic, key: key, value: value, tag: 0)
      }
    }
    guard producer.flush(timeoutMilliseconds: 10_000) else { throw KafkaFixtureTimeout() }
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    let partition = TopicPartition(topic: names.notifications, partition: 0)
    return Int(try admin.watermarks([partition], timeoutMilliseconds: 5_000)[0].low)
  }
}

extension KafkaFixture {
  /// Calls `body` with the bytes of a key and a value.
  func withRecord(
    _ key: String, _ value: String,
    _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    try Array(key.utf8).withUnsafeBytes { key in
      try Array(value.utf8).withUnsafeBytes { value in try body(key, value) }
    }
  }
}
