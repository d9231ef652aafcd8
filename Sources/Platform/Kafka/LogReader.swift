// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Reads partitions of one topic without a consumer group: nothing is committed, and no other reader is affected.
/// Records, partition ends and errors arrive on one queue.
struct LogReader {
  let topic: String
  let partitions: Int
  let client: KafkaClient
  private let handle: OpaquePointer
  let queue: OpaquePointer
  /// Held because librdkafka writes to its descriptor for as long as the queue lives.
  private let wakeup: Wakeup?

  /// Asks for the topic's partition count, unless the caller knows it; does not read yet.
  init(
    _ configuration: KafkaConfiguration, topic: String, partitions known: Int? = nil,
    fixed: [KafkaConfiguration.Property], wakeup: Wakeup?, timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    self.topic = topic
    self.wakeup = wakeup
    let native = try configuration.makeNative(
      .reader, fixed: [("enable.partition.eof", "true")] + fixed)
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
    self.client = client
    self.handle = handle
    queue = rd_kafka_queue_new(client.raw)
    if let wakeup { KafkaClient.enableWakeup(of: queue, wakeup) }
  }

  /// Starts reading a partition. Negative offsets are librdkafka's constants for the ends of a log.
  func start(_ partition: Int32, at offset: Int64) throws(KafkaError) {
    guard rd_kafka_consume_start_queue(handle, partition, offset, queue) == 0 else {
      throw KafkaError(rd_kafka_last_error(), "cannot read \(topic)/\(partition)")
    }
  }

  func stop(_ partition: Int32) { _ = rd_kafka_consume_stop(handle, partition) }

  /// The first offset of each partition whose record was written at this time (milliseconds since the epoch) or later;
  /// a partition is missing if the broker knows of none, or does not answer.
  func starts(since time: Int64) -> [Int32: Int64] {
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    let starts = client.offsets(all, at: time, timeoutMilliseconds: Self.patienceMilliseconds)
    return Dictionary(uniqueKeysWithValues: starts.map { ($0.key.partition, $0.value) })
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

  /// Handles the client's own events; returns the last error among them.
  func serveErrors() -> KafkaError? {
    var last: KafkaError?
    while let event = rd_kafka_queue_poll(client.events, 0) {
      if rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR {
        last = KafkaError(
          code: rd_kafka_event_error(event).rawValue,
          message: String(cString: rd_kafka_event_error_string(event)), isRetriable: true)
      }
      rd_kafka_event_destroy(event)
    }
    return last
  }

  /// Ends the client. Every record must have been released.
  func close() {
    for partition in 0..<Int32(partitions) { stop(partition) }
    rd_kafka_queue_io_event_enable(queue, -1, nil, 0)
    rd_kafka_queue_destroy(queue)
    rd_kafka_topic_destroy(handle)
    client.destroy()
  }
}
