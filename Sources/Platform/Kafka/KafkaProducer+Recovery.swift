// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// A copy of a record whose delivery failed, made from its delivery report.
struct FailedRecord {
  let slot: Int
  let sequence: UInt64
  let topic: Int
  /// -1: any partition.
  var partition: Int32
  let key: [UInt8]?
  let value: [UInt8]?
  let headers: OpaquePointer?
  /// True if it was in a batch that Kafka rejected: it is produced again in a batch of its own.
  let isToBeAlone: Bool

  func destroyHeaders() {
    if let headers { rd_kafka_headers_destroy(headers) }
  }
}

/// The state of a producer between a fatal error and its next client.
struct ProducerRecovery {
  var isUnderWay = false
  /// True while a record in a batch of its own is not acknowledged: nothing else is produced meanwhile.
  var hasLoneRecord = false
  var hasPurged = false
  /// Until this time (monotonic ms) the broker may still acknowledge records in flight.
  var purgeAt: UInt64 = 0
  /// The earliest time at which the client is replaced, in monotonic ms.
  var replaceAt: UInt64 = 0
  /// The earliest time at which failed records are produced again, in monotonic ms.
  var notBefore: UInt64 = 0
  /// The pause before the next retry, in ms; doubles up to a second while nothing is acknowledged.
  var pause = firstPause

  static let firstPause: UInt64 = 10

  /// How long to wait for acknowledgements of records in flight, in milliseconds.
  static let patience: UInt64 = 5_000

  /// The longest pause between two attempts, in ms.
  static let longestPause: UInt64 = 1_000
  /// The same between two clients that request a producer id which this user may not have.
  static let longestIDPause: UInt64 = 5_000
  /// How long after a client was refused a producer id the next one may still wait for its response, in ms.
  static let idPatience: UInt64 = 3 * longestIDPause
}

extension KafkaProducer {
  /// Keeps a copy of a record that must be produced again.
  func hold(
    _ message: UnsafePointer<rd_kafka_message_t>, _ slot: Int, _ code: rd_kafka_resp_err_t
  ) {
    let content = message.pointee
    hold(
      slot, topicIndex(content.rkt), partition: content.partition,
      key: UnsafeRawBufferPointer(start: content.key, count: content.key_len),
      value: UnsafeRawBufferPointer(start: content.payload, count: content.len),
      headers: message.headers.map { rd_kafka_headers_copy($0) }, code)
  }

  /// Keeps a copy of a record that must be produced again, with its headers.
  func hold(
    _ slot: Int, _ topic: Int, partition: Int32 = -1, key: UnsafeRawBufferPointer,
    value: UnsafeRawBufferPointer, headers: OpaquePointer?, _ code: rd_kafka_resp_err_t
  ) {
    let isToBeAlone = DeliveryFailure(code) == .ofBatch || records[slot].isAlone
    failures.append(
      FailedRecord(
        slot: slot, sequence: records[slot].sequence, topic: topic,
        partition: DeliveryFailure.isOfPlace(code) ? -1 : partition,
        key: key.baseAddress == nil ? nil : Array(key),
        value: value.baseAddress == nil ? nil : Array(value), headers: headers,
        isToBeAlone: isToBeAlone))
    lastError = KafkaError(code, "a record could not be delivered yet")
    if recovery.notBefore == 0 {
      // Producing it alone has not been tried yet, so it need not wait.
      recovery.notBefore = MonotonicClock.milliseconds() + (isToBeAlone ? 0 : recovery.pause)
    }
  }

  /// Counts a rejection of a record by Kafka.
  func note(_ code: rd_kafka_resp_err_t, of topic: Int) {
    guard DeliveryFailure.isAnswer(code) else { return }
    refusals += 1
    let error = KafkaError(code, "topic \(topics[topic].name)")
    lastRefusal = (topic, error)
    guard error.isOfAuthorization else { return }
    unauthorized[topic] = error
    taking.remove(topic)
  }

  /// The content of a record that is returned to the caller.
  func refusedRecord(_ message: UnsafePointer<rd_kafka_message_t>, tag: UInt) -> RefusedRecord {
    func copied(_ start: UnsafeMutableRawPointer?, _ count: Int) -> [UInt8]? {
      start.map { Array(UnsafeRawBufferPointer(start: $0, count: count)) }
    }
    let content = message.pointee
    return RefusedRecord(
      tag: tag, topic: KafkaTopic(index: Int32(topicIndex(content.rkt))),
      key: copied(content.key, content.key_len), value: copied(content.payload, content.len),
      headers: message.headers.map { [KafkaHeader]($0) } ?? [])
  }

  /// A report may name the topic through another handle of the same topic.
  func topicIndex(_ handle: OpaquePointer?) -> Int {
    if let index = topics.firstIndex(where: { $0.handle == handle }) { return index }
    let name = String(cString: rd_kafka_topic_name(handle))
    guard let index = topics.firstIndex(where: { $0.name == name }) else {
      preconditionFailure("a delivery report for topic \(name), which was never produced to")
    }
    return index
  }

  /// Stops accepting new records until another client has replaced the dead one.
  func beginRecovery() {
    guard !recovery.isUnderWay else { return }
    recovery.isUnderWay = true
    recovery.hasPurged = false
    recovery.purgeAt = MonotonicClock.milliseconds() + ProducerRecovery.patience
    recovery.replaceAt = MonotonicClock.milliseconds() + recovery.pause
    wakeup?.signal()
  }

  /// Waits for the dead client's last delivery reports, then replaces it and produces the failed records again.
  func continueRecovery(into deliveries: inout [Delivery]) {
    guard MonotonicClock.milliseconds() >= recovery.replaceAt else { return }
    guard let client else { return replaceClient(into: &deliveries) }
    guard records.count == failures.count else {
      let isLate = MonotonicClock.milliseconds() >= recovery.purgeAt
      if isLate && !recovery.hasPurged {
        // Their outcome is unknown; producing them again stores them at least once.
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
    // A client that fails as soon as it starts must not be replaced without a pause.
    let longest =
      refusedID == nil ? ProducerRecovery.longestPause : ProducerRecovery.longestIDPause
    let pause = min(recovery.pause * 2, longest)
    recovery = ProducerRecovery()
    recovery.pause = pause
    produceFailed(into: &deliveries)
  }

  /// Creates a client if there is none. If that fails, the next `drainDeliveries` tries again.
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
      // The same properties worked before, so memory or threads are short: keep trying.
      lastError = error
      recovery.isUnderWay = true
      return false
    }
  }

  /// Produces failed records again, oldest first, as far as there is room.
  func produceFailed(into deliveries: inout [Delivery]) {
    guard let client, !recovery.hasLoneRecord, MonotonicClock.milliseconds() >= recovery.notBefore
    else { return }
    failures.sort { $0.sequence < $1.sequence }
    var done = 0
    for record in failures {
      // A record is alone in its batch only if no other record is outstanding.
      if record.isToBeAlone, records.count > failures.count - done { break }
      let code = record.produce(client.raw, topics[record.topic].handle)
      if code == RD_KAFKA_RESP_ERR__FATAL {
        beginRecovery()
        break
      }
      guard code != RD_KAFKA_RESP_ERR_NO_ERROR else {
        done += 1
        guard record.isToBeAlone else { continue }
        records.setAlone(record.slot)
        recovery.hasLoneRecord = true
        break
      }
      // The queue is full, or another transient error.
      if DeliveryFailure(code) == .passing {
        if code != RD_KAFKA_RESP_ERR__QUEUE_FULL { note(code, of: record.topic) }
        if DeliveryFailure.isOfPlace(code) { freeFromPlace(record.topic, record.partition) }
        break
      }
      done += 1
      note(code, of: record.topic)
      refused.append(record.refused(tag: records[record.slot].tag))
      record.destroyHeaders()
      outstandingBytes -= (record.key?.count ?? 0) + (record.value?.count ?? 0)
      deliveries.append(
        Delivery(
          tag: records.remove(record.slot), offset: -1, partition: record.partition,
          errorCode: code.rawValue))
    }
    failures.removeFirst(done)
    pauseBeforeNext(after: done)
  }

  /// The topic was recreated without this partition: its waiting records may go to any partition.
  private func freeFromPlace(_ topic: Int, _ partition: Int32) {
    for index in failures.indices
    where failures[index].topic == topic && failures[index].partition == partition {
      failures[index].partition = -1
    }
  }

  /// Doubles the pause while nothing is acknowledged; a record that needs its own batch only waits for its turn.
  private func pauseBeforeNext(after done: Int) {
    let waitsForTurn = failures.first?.isToBeAlone ?? true
    if done > 0 || !waitsForTurn {
      recovery.pause = min(recovery.pause * 2, ProducerRecovery.longestPause)
    }
    recovery.notBefore = waitsForTurn ? 0 : MonotonicClock.milliseconds() + recovery.pause
  }

  /// Fails the client as librdkafka's idempotent producer does: for tests.
  public func injectFatalError() {
    guard let client else { return }
    _ = rd_kafka_test_fatal_error(
      client.raw, RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, "injected by a test")
  }
}

extension FailedRecord {
  /// The record as it is returned to the caller.
  fileprivate func refused(tag: UInt) -> RefusedRecord {
    RefusedRecord(
      tag: tag, topic: KafkaTopic(index: Int32(topic)), key: key, value: value,
      headers: headers.map { [KafkaHeader]($0) } ?? [])
  }

  fileprivate func produce(_ client: OpaquePointer, _ topic: OpaquePointer) -> rd_kafka_resp_err_t {
    let opaque = UnsafeMutableRawPointer(bitPattern: slot + 1)
    func submit(
      _ key: UnsafeRawBufferPointer?, _ value: UnsafeRawBufferPointer?
    ) -> rd_kafka_resp_err_t {
      martlet_produce(
        client, topic, partition, start(key), key?.count ?? 0, start(value), value?.count ?? 0,
        opaque, headers)
    }
    // An empty key or value differs from a missing one.
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

extension UnsafePointer<rd_kafka_message_t> {
  /// The message's headers, still owned by the message; nil without any.
  var headers: OpaquePointer? {
    var headers: OpaquePointer?
    return rd_kafka_message_headers(self, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR ? headers : nil
  }
}
