// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Asks a cluster whether topics may be read, which Kafka answers only to a fetch. Reads and commits nothing. Owned by
/// one thread.
public final class ReadProbe {
  public enum Answer: Sendable {
    case allowed
    case refused(KafkaError)
    /// Any other error, such as an unavailable leader; nil: no answer within the timeout.
    case unanswered(KafkaError?)
  }

  private var client: KafkaClient?
  private let answers: OpaquePointer
  private var topics: [String: OpaquePointer] = [:]

  /// Throws for properties that librdkafka rejects.
  public init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    let native = try configuration.makeNative(
      .reader,
      fixed: [
        ("enable.partition.eof", "true"), ("fetch.wait.max.ms", "10"),
        // Records that arrive at the end of a busy topic are discarded.
        ("fetch.message.max.bytes", "1"), ("fetch.min.bytes", "1"),
      ])
    native.enableEvents(RD_KAFKA_EVENT_ERROR)
    let client = try KafkaClient(RD_KAFKA_CONSUMER, native, wakeup: nil)
    self.client = client
    answers = rd_kafka_queue_new(client.raw)
  }

  deinit { close() }

  /// Fetches from the end of the first partition of each topic; they must exist.
  public func ask(_ names: [String], timeoutMilliseconds: Int32) -> [String: Answer] {
    guard let client else { return [:] }
    var found: [String: Answer] = [:]
    for name in names { found[name] = start(name, client) }
    var waiting = Set(found.keys)
    let deadline = MonotonicClock.milliseconds() + UInt64(timeoutMilliseconds)
    while !waiting.isEmpty, MonotonicClock.milliseconds() < deadline {
      while let event = rd_kafka_queue_poll(client.events, 0) { rd_kafka_event_destroy(event) }
      guard let message = rd_kafka_consume_queue(answers, 20) else { continue }
      let name = String(cString: rd_kafka_topic_name(message.pointee.rkt))
      let answer = Self.answer(message.pointee.err, name)
      rd_kafka_message_destroy(message)
      found[name] = answer
      if case .unanswered = answer { continue }
      waiting.remove(name)
    }
    for name in found.keys { _ = rd_kafka_consume_stop(topics[name], 0) }
    return found
  }

  private func start(_ name: String, _ client: KafkaClient) -> Answer {
    if topics[name] == nil { topics[name] = rd_kafka_topic_new(client.raw, name, nil) }
    guard let topic = topics[name],
      rd_kafka_consume_start_queue(topic, 0, Int64(RD_KAFKA_OFFSET_END), answers) == 0
    else { return .unanswered(KafkaError(rd_kafka_last_error(), "cannot read topic \(name)")) }
    return .unanswered(nil)
  }

  private static func answer(_ code: rd_kafka_resp_err_t, _ name: String) -> Answer {
    if code == RD_KAFKA_RESP_ERR_NO_ERROR || code == RD_KAFKA_RESP_ERR__PARTITION_EOF {
      return .allowed
    }
    let error = KafkaError(code, "topic \(name)")
    return error.isOfAuthorization ? .refused(error) : .unanswered(error)
  }

  public func close() {
    guard let client else { return }
    for topic in topics.values { rd_kafka_topic_destroy(topic) }
    topics = [:]
    rd_kafka_queue_destroy(answers)
    client.destroy()
    self.client = nil
  }
}
