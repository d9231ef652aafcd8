// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// A copy of a record whose delivery failed, made from its failed delivery report.
struct HeldRecord {
  let slot: Int
  let sequence: UInt64
  let topic: Int
  let partition: Int32
  let key: [UInt8]?
  let value: [UInt8]?
  let headers: OpaquePointer?

  func destroyHeaders() {
    if let headers { rd_kafka_headers_destroy(headers) }
  }
}

/// Where a producer stands between a fatal error and its next client.
struct ProducerRecovery {
  var isUnderWay = false
  var hasPurged = false
  /// Until then the broker may still answer for records that are on the wire; monotonic ms.
  var purgeAt: UInt64 = 0
  /// Held records are not produced again before; monotonic ms.
  var notBefore: UInt64 = 0
  /// How long to wait before the next repetition, in ms; doubles up to a second while nothing gets
  /// through.
  var pause = firstPause

  static let firstPause: UInt64 = 10

  /// How long answers for records on the wire are waited for.
  static let patience: UInt64 = 5_000
}

extension KafkaProducer {
  /// Keeps a copy of a record that has to be produced again.
  func hold(
    _ message: UnsafePointer<rd_kafka_message_t>, _ slot: Int, _ code: rd_kafka_resp_err_t
  ) {
    let content = message.pointee
    func copied(_ start: UnsafeMutableRawPointer?, _ count: Int) -> [UInt8]? {
      start.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) }
    }
    var headers: OpaquePointer?
    if rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR {
      headers = rd_kafka_headers_copy(headers)
    } else {
      headers = nil
    }
    let topic = topics.firstIndex { $0.handle == content.rkt }
    held.append(
      HeldRecord(
        slot: slot, sequence: records[slot].sequence, topic: topic ?? topicIndex(content.rkt),
        partition: content.partition, key: copied(content.key, content.key_len),
        value: copied(content.payload, content.len), headers: headers))
    lastError = KafkaError(code, "a record could not be delivered yet")
    if recovery.notBefore == 0 {
      recovery.notBefore = MonotonicClock.milliseconds() + recovery.pause
    }
  }

  /// A report may name the topic through another handle of the same topic.
  private func topicIndex(_ handle: OpaquePointer?) -> Int {
    let name = String(cString: rd_kafka_topic_name(handle))
    guard let index = topics.firstIndex(where: { $0.name == name }) else {
      preconditionFailure("a delivery report for topic \(name), which was never produced to")
    }
    return index
  }

  /// The client is dead: no new record until another has taken its place.
  func beginRecovery() {
    guard !recovery.isUnderWay else { return }
    recovery.isUnderWay = true
    recovery.hasPurged = false
    recovery.purgeAt = MonotonicClock.milliseconds() + ProducerRecovery.patience
    wakeup?.signal()
  }

  /// Waits for the dead client's last answers, then replaces it and produces again what failed.
  func continueRecovery(into deliveries: inout [Delivery]) {
    guard let client else { return replaceClient(into: &deliveries) }
    guard records.count == held.count else {
      let isLate = MonotonicClock.milliseconds() >= recovery.purgeAt
      if isLate && !recovery.hasPurged {
        // Their fate is unknown; producing them again may store them twice, never zero times.
        rd_kafka_purge(client.raw, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
        recovery.hasPurged = true
      }
      return
    }
    destroyClient()
    replaceClient(into: &deliveries)
  }

  private func replaceClient(into deliveries: inout [Delivery]) {
    guard connectAnew() else { return }
    restarts += 1
    recovery = ProducerRecovery()
    produceHeld(into: &deliveries)
  }

  /// Makes a client where there is none. Should that fail, the next `drainDeliveries` tries again.
  @discardableResult
  func connectAnew() -> Bool {
    do throws(KafkaError) {
      let next = try Self.connect(configuration.makeNative(.producer), wakeup)
      for index in topics.indices {
        guard let handle = rd_kafka_topic_new(next.raw, topics[index].name, nil) else {
          preconditionFailure("topic \(topics[index].name) has lost its name")
        }
        topics[index].handle = handle
      }
      client = next
      return true
    } catch {
      // The same properties made a client before; this is a lack of memory or threads, so try on.
      lastError = error
      recovery.isUnderWay = true
      return false
    }
  }

  /// Produces held records again, oldest first, as far as there is room.
  func produceHeld(into deliveries: inout [Delivery]) {
    guard let client, MonotonicClock.milliseconds() >= recovery.notBefore else { return }
    held.sort { $0.sequence < $1.sequence }
    var done = 0
    for record in held {
      let code = record.produce(client.raw, topics[record.topic].handle)
      if code == RD_KAFKA_RESP_ERR__FATAL {
        beginRecovery()
        break
      }
      // No room, or something else that time heals.
      if code != RD_KAFKA_RESP_ERR_NO_ERROR && !Refusal.isFinal(code) { break }
      done += 1
      guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
      record.destroyHeaders()
      outstandingBytes -= (record.key?.count ?? 0) + (record.value?.count ?? 0)
      deliveries.append(
        Delivery(
          tag: records.remove(record.slot), offset: -1, partition: record.partition,
          errorCode: code.rawValue))
    }
    held.removeFirst(done)
    recovery.notBefore = 0
    if done > 0 { recovery.pause = min(recovery.pause * 2, 1_000) }
  }

  /// Makes the client fail as librdkafka's idempotence does: for tests.
  package func injectFatalError() {
    guard let client else { return }
    _ = rd_kafka_test_fatal_error(
      client.raw, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "injected by a test")
  }
}

extension HeldRecord {
  fileprivate func produce(_ client: OpaquePointer, _ topic: OpaquePointer) -> rd_kafka_resp_err_t {
    let opaque = UnsafeMutableRawPointer(bitPattern: slot + 1)
    func submit(
      _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?
    ) -> rd_kafka_resp_err_t {
      martlet_produce(
        client, topic, partition, start(key), key?.count ?? 0, start(value), value?.count ?? 0,
        opaque, headers)
    }
    // An empty key or value is not the same as none.
    func start(_ bytes: UnsafeRawBufferPointer?) -> UnsafeRawPointer? {
      bytes.map { $0.baseAddress ?? UnsafeRawPointer(opaque!) }
    }
    switch (key, value) {
    case (nil, nil): return submit(nil, nil)
    case (let key?, nil): return key.withUnsafeBytes { submit($0, nil) }
    case (nil, let value?): return value.withUnsafeBytes { submit(nil, $0) }
    case (let key?, let value?):
      return key.withUnsafeBytes { keyBytes in
        value.withUnsafeBytes { submit(keyBytes, $0) }
      }
    }
  }
}
