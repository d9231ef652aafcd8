// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// One librdkafka client and the queue on which its events arrive. Its owner destroys it exactly once.
struct KafkaClient {
  let raw: OpaquePointer
  let events: OpaquePointer
  /// Held because librdkafka writes to its descriptor for as long as the client lives.
  private let wakeup: Wakeup?

  /// A client whose events arrive on its main queue and signal `wakeup`.
  init(
    _ type: rd_kafka_type_t, _ native: consuming NativeConfiguration, consumerQueue: Bool = false,
    wakeup: Wakeup?
  ) throws(KafkaError) {
    let client = try native.makeClient(type)
    if consumerQueue { rd_kafka_poll_set_consumer(client) }
    let queue =
      consumerQueue ? rd_kafka_queue_get_consumer(client) : rd_kafka_queue_get_main(client)
    raw = client
    OpenClients.opened(client)
    events = queue!
    self.wakeup = wakeup
    if let wakeup { Self.enableWakeup(of: events, wakeup) }
  }

  static func enableWakeup(of queue: OpaquePointer, _ wakeup: Wakeup) {
    var one: UInt64 = 1
    rd_kafka_queue_io_event_enable(queue, wakeup.fd, &one, MemoryLayout<UInt64>.size)
  }

  /// Ends the client. A group consumer must have left its group before.
  func destroy() {
    release()
    KafkaClientEnd(raw).wait()
  }

  /// Releases the client without waiting; it ends by itself.
  func abandon() {
    release()
    _ = KafkaClientEnd(raw)
  }

  /// The first offset that a partition still holds and the next one to be written.
  func watermarks(
    _ partition: TopicPartition, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_query_watermark_offsets(
      raw, partition.topic, partition.partition, &low, &high, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(ofLeaders: code, "cannot read the watermarks of \(partition)")
    }
    return Watermarks(low: low, high: high)
  }

  /// The end of a partition's log, including records of open transactions, as of its last fetch response: no request is
  /// sent. nil before the first one.
  func knownEnd(_ partition: TopicPartition) -> Int64? {
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_get_watermark_offsets(
      raw, partition.topic, partition.partition, &low, &high)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR && high >= 0 ? high : nil
  }

  /// The offsets of partitions at a place, as far as their brokers answer and have one.
  func offsets(
    _ partitions: [TopicPartition], at place: Int64, timeoutMilliseconds: Int32
  ) -> [TopicPartition: Int64] {
    answers(partitions, at: place, timeoutMilliseconds: timeoutMilliseconds)
      .compactMapValues(\.self)
  }

  /// The offsets of partitions at a place, as far as their brokers answer; nil where a partition has none there. A
  /// broker that does not answer takes the answers of all others with it.
  ///
  /// - Parameter place: a position in a log that a broker translates into an offset: a time (milliseconds since the
  ///   epoch), or librdkafka's constant for an end.
  func answers(
    _ partitions: [TopicPartition], at place: Int64, timeoutMilliseconds: Int32
  ) -> [TopicPartition: Int64?] {
    guard !partitions.isEmpty else { return [:] }
    let list = PartitionList(capacity: partitions.count)
    for partition in partitions { list.add(partition).pointee.offset = place }
    let code = rd_kafka_offsets_for_times(raw, list.raw, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { return [:] }
    var answers: [TopicPartition: Int64?] = [:]
    for entry in PartitionList.read(list.raw) where entry.err == RD_KAFKA_RESP_ERR_NO_ERROR {
      answers.updateValue(entry.offset >= 0 ? entry.offset : nil, forKey: entry.identity)
    }
    return answers
  }

  private func release() {
    OpenClients.closes(raw)
    rd_kafka_queue_io_event_enable(events, -1, nil, 0)
    rd_kafka_queue_destroy(events)
  }
}

/// The number of a topic's partitions, asked of the cluster.
func partitionCount(
  _ client: OpaquePointer, _ topic: OpaquePointer, timeoutMilliseconds: Int32
) throws(KafkaError) -> Int {
  let name = String(cString: rd_kafka_topic_name(topic))
  var metadata: UnsafePointer<rd_kafka_metadata>?
  let code = rd_kafka_metadata(client, 0, topic, &metadata, timeoutMilliseconds)
  guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
    throw KafkaError(code, "cannot look up topic \(name); is the Kafka address right?")
  }
  defer { rd_kafka_metadata_destroy(metadata) }
  let answer = (0..<Int(metadata.pointee.topic_cnt)).lazy.map { metadata.pointee.topics[$0] }
    .first { String(cString: $0.topic) == name }
  let error = answer?.err ?? RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART
  guard let answer, error == RD_KAFKA_RESP_ERR_NO_ERROR else {
    throw KafkaError(error, "topic \(name); `martlet topics create` creates those it needs")
  }
  return Int(answer.partition_cnt)
}
