// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Reads partitions of one topic without a consumer group: nothing is committed, and no other reader is affected.
/// Records, partition ends and errors arrive on one queue. Owned by one thread.
final class LogReader {
  let topic: String
  private(set) var partitions: Int
  /// The last error; reading continues by itself.
  var lastError: KafkaError?
  private let client: KafkaClient
  private let handle: OpaquePointer
  private let queue: OpaquePointer
  /// Held because librdkafka writes to its descriptor for as long as the queue lives.
  private let wakeup: Wakeup?
  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  private var isClosed = false

  /// Asks for the topic's partition count, unless the caller knows it; does not read yet.
  ///
  /// - Parameter reset: where a partition goes on whose log does not have its position (`auto.offset.reset`).
  init(
    _ configuration: KafkaConfiguration, topic: String, partitions known: Int? = nil,
    reset: String, wakeup: Wakeup?, timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) {
    let native = try configuration.makeNative(
      .reader, fixed: [("enable.partition.eof", "true"), ("auto.offset.reset", reset)])
    native.enableEvents(RD_KAFKA_EVENT_ERROR)
    let client = try KafkaClient(RD_KAFKA_CONSUMER, native, wakeup: nil)
    guard let handle = rd_kafka_topic_new(client.raw, topic, nil) else {
      client.destroy()
      throw .invalid("cannot read topic \(topic)")
    }
    do throws(KafkaError) {
      if let known {
        partitions = known
      } else {
        partitions = try partitionCount(
          client.raw, handle, timeoutMilliseconds: timeoutMilliseconds)
      }
    } catch {
      rd_kafka_topic_destroy(handle)
      client.destroy()
      throw error
    }
    self.topic = topic
    self.wakeup = wakeup
    self.client = client
    self.handle = handle
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    queue = rd_kafka_queue_new(client.raw)
    if let wakeup { KafkaClient.enableWakeup(of: queue, wakeup) }
  }

  deinit { close() }

  /// Starts reading a partition. Negative offsets are librdkafka's constants for the ends of a log.
  func start(_ partition: Int32, at offset: Int64) throws(KafkaError) {
    guard !isClosed else { return }
    guard rd_kafka_consume_start_queue(handle, partition, offset, queue) == 0 else {
      throw KafkaError(rd_kafka_last_error(), "cannot read \(topic)/\(partition)")
    }
  }

  /// Asks whether the topic has more partitions by now, and starts reading each of them at its first record.
  func startAdded(timeoutMilliseconds: Int32) throws(KafkaError) {
    guard !isClosed else { return }
    let count = try partitionCount(client.raw, handle, timeoutMilliseconds: timeoutMilliseconds)
    while partitions < count {
      try start(Int32(partitions), at: Int64(RD_KAFKA_OFFSET_BEGINNING))
      partitions += 1
    }
  }

  func stop(_ partition: Int32) {
    if !isClosed { _ = rd_kafka_consume_stop(handle, partition) }
  }

  /// Appends what has arrived to the batch, messages about partitions too; waits up to the timeout until it is full.
  /// Returns how many were appended.
  func fill(
    _ batch: inout KafkaBatch, upTo most: Int = .max, timeoutMilliseconds: Int32
  ) -> Int {
    guard !isClosed else { return 0 }
    while let event = rd_kafka_queue_poll(client.events, 0) {
      if rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR {
        lastError = KafkaError(
          code: rd_kafka_event_error(event).rawValue,
          message: String(cString: rd_kafka_event_error_string(event)), isRetriable: true)
      }
      rd_kafka_event_destroy(event)
    }
    return batch.fill(from: queue, limit: most, timeout: timeoutMilliseconds)
  }

  /// Drops from what was appended the messages about partitions, and the records that crashed the process
  /// (`CrashNotes`).
  func clean(_ batch: inout KafkaBatch, from first: Int, keepsEnds: Bool = false) {
    batch.removeAll(from: first) { record in
      record.errorCode == 0
        ? isDeadly?(record) == true : !(keepsEnds && record.isEndOfPartition)
    }
  }

  /// The first offset of each partition whose record was written at this time (milliseconds since the epoch) or later;
  /// nil if the broker knows of none, or does not answer.
  func starts(since time: Int64) -> [Int64?] {
    answers(since: time).map { $0 ?? nil }
  }

  /// The same of each partition whose broker answers: nil in it if there is no such record.
  func answers(since time: Int64) -> [Int64??] {
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    let answers = client.answers(all, at: time, timeoutMilliseconds: Self.patienceMilliseconds)
    return all.map { answers[$0] }
  }

  /// The offset `count` records before a partition's end; nil if the end is unknown.
  func start(ofLast count: Int64, _ partition: Int32) -> Int64? {
    guard
      let ends = try? watermarks(partition, timeoutMilliseconds: Self.patienceMilliseconds)
    else { return nil }
    return max(ends.low, ends.high - count)
  }

  private static let patienceMilliseconds: Int32 = 5_000

  /// The first offset a partition holds and the next to be written.
  func watermarks(_ partition: Int32, timeoutMilliseconds: Int32) throws(KafkaError) -> Watermarks {
    try client.watermarks(
      TopicPartition(topic: topic, partition: partition), timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The end of a partition's log as of its last fetch response (`KafkaClient.knownEnd`).
  func knownEnd(_ partition: Int32) -> Int64? {
    isClosed ? nil : client.knownEnd(TopicPartition(topic: topic, partition: partition))
  }

  /// Ends the client. Every record must have been released.
  func close() {
    guard !isClosed else { return }
    for partition in 0..<Int32(partitions) { stop(partition) }
    isClosed = true
    rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    rd_kafka_queue_destroy(queue)
    rd_kafka_topic_destroy(handle)
    client.destroy()
  }
}
