// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop
internal import Glibc

/// An idempotent, batching producer that reports each record's delivery.
///
/// Owned by one thread. It never gives up a record that Kafka may still accept: it waits out an outage, a missing topic
/// or a missing ACL, and after a fatal error of librdkafka's client it produces every unacknowledged record again with
/// a new client, in order. Such a retry may store a record twice. Only a record that is refused in a batch of its own
/// is returned. Call `drainDeliveries` when the wakeup is signalled and every 100 ms while records are outstanding:
/// retries happen there.
public final class KafkaProducer {
  let configuration: KafkaConfiguration
  let wakeup: Wakeup?
  var client: KafkaClient?
  var topics: [(name: String, handle: OpaquePointer)] = []
  var records = OutstandingRecords()
  /// Copies of records whose delivery failed with a transient error.
  var failures: [FailedRecord] = []
  var recovery = ProducerRecovery()
  /// The result of the last `drainDeliveries`, kept to reuse its memory.
  private var deliveries: [Delivery] = []
  /// Deliveries that `flush` collected.
  private var early: [Delivery] = []
  /// Sends single records without lingering; nil until the first one.
  private var prompt: PromptSending?
  /// The number of records that librdkafka has accepted.
  private var produced: UInt64 = 0
  /// The number of records that Kafka has acknowledged or refused.
  private var answered: UInt64 = 0
  private var pace = ProducerPace()
  /// The number of times that everything was acknowledged or refused.
  private var rests: UInt64 = 0
  /// True if no record was outstanding when deliveries were last drained.
  private var isQuiet = true
  private let limitRecords: Int
  private let limitBytes: Int

  public var outstanding: Int { records.count }
  /// The size of their keys and values, in bytes.
  public internal(set) var outstandingBytes = 0
  /// A lower bound of how long the oldest unacknowledged record has waited, in milliseconds; 0 without one. Call it
  /// after every `drainDeliveries`, at least once a second: time in which deliveries are not drained does not count.
  public func oldestWait(now: UInt64) -> UInt64 { records.oldestWait(now: now) }

  /// The number of times the client was replaced after a fatal error.
  public internal(set) var restarts = 0
  /// The last connection error, for health pages.
  public internal(set) var lastError: KafkaError?
  /// The number of times Kafka has rejected a record, permanently or for now.
  public internal(set) var refusals = 0
  var lastRefusal: (topic: Int, error: KafkaError)?
  /// Set when Kafka refused the client a producer id, with the time (monotonic milliseconds): this user may write to
  /// none of its topics. Every further client asks again.
  var refusedID: (error: KafkaError, at: UInt64)?
  /// The errors of topics whose last answered record the authorizer refused.
  var unauthorized: [Int: KafkaError] = [:]
  /// Topics that have taken a record since one was refused, or a producer id.
  var taking: Set<Int> = []
  /// The content of refused records: those that the next `drainDeliveries` will return, and those that the last one
  /// returned.
  var refused: [RefusedRecord] = []
  private var returned: [RefusedRecord] = []

  /// Creates the client; does not wait for a broker.
  ///
  /// - Parameter wakeup: signalled when there are deliveries to drain.
  ///
  /// Throws for properties that librdkafka rejects.
  public init(_ configuration: KafkaConfiguration, wakeup: Wakeup? = nil) throws(KafkaError) {
    self.configuration = configuration
    self.wakeup = wakeup
    let native = try configuration.makeNative(.producer)
    let mostRecords = native.integer("queue.buffering.max.messages") ?? 100_000
    // librdkafka: 0 disables this limit.
    limitRecords = mostRecords == 0 ? .max : mostRecords
    limitBytes = (native.integer("queue.buffering.max.kbytes") ?? 1 << 20) << 10
    client = try Self.connect(native, wakeup)
  }

  deinit { close() }

  static func connect(
    _ native: consuming NativeConfiguration, _ wakeup: Wakeup?
  ) throws(KafkaError) -> KafkaClient {
    native.enableEvents(RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR)
    return try KafkaClient(RD_KAFKA_PRODUCER, native, wakeup: wakeup)
  }

  /// True if the next `produce` is sure to return `.full`.
  public var isFull: Bool {
    isWaiting || records.count >= limitRecords || outstandingBytes >= limitBytes
  }

  /// A new record must neither overtake those that wait to be produced again nor join the batch of one that needs its
  /// own.
  private var isWaiting: Bool {
    recovery.isUnderWay || recovery.hasLoneRecord || !failures.isEmpty
  }

  /// The records that Kafka currently rejects, and the reason; nil if there are none. An unreachable broker does not
  /// count.
  public var trouble: ProducerTrouble? {
    if let refusedID, MonotonicClock.milliseconds() < refusedID.at + ProducerRecovery.idPatience {
      return ProducerTrouble(
        waiting: outstanding, topics: topics.map(\.name), error: refusedID.error)
    }
    guard outstanding > 0, isWaiting || recovery.pause > ProducerRecovery.firstPause else {
      return nil
    }
    // Between two attempts no record is rejected; the last failure still counts as one if the error is the same.
    if let lastRefusal, !failures.isEmpty || lastRefusal.error.code == lastError?.code {
      return ProducerTrouble(
        waiting: outstanding, topics: [topics[lastRefusal.topic].name], error: lastRefusal.error)
    }
    return lastError.map { ProducerTrouble(waiting: outstanding, topics: [], error: $0) }
  }

  /// The topics that this user may not write to, as far as records that wait or a refused producer id show.
  public var unwritable: [(topic: String, error: KafkaError)] {
    if let refusedID, MonotonicClock.milliseconds() < refusedID.at + ProducerRecovery.idPatience {
      return topics.map { ($0.name, refusedID.error) }
    }
    guard outstanding > 0 else { return [] }
    return unauthorized.sorted { $0.key < $1.key }.map { (topics[$0.key].name, $0.value) }
  }

  /// Whether a topic that was `unwritable` has taken a record since.
  public func isTaking(_ topic: String) -> Bool {
    topics.firstIndex { $0.name == topic }.map(taking.contains) ?? false
  }

  /// The producer's status as of the last drained deliveries.
  public var standing: ProducerSnapshot {
    ProducerSnapshot(
      answered: answered, outstanding: outstanding, trouble: trouble, lastError: lastError)
  }

  public func name(of topic: KafkaTopic) -> String { topics[Int(topic.index)].name }

  /// The content of a record whose `Delivery` is `refused`; nil after the next `drainDeliveries`.
  public func refusedRecord(_ tag: UInt) -> RefusedRecord? {
    returned.first { $0.tag == tag }
  }

  /// Describes why a record was refused: its topic, its size, Kafka's error and the remedy.
  public func describe(_ record: RefusedRecord, _ error: KafkaError) -> String {
    let remedy = error.remedy.map { "; \($0)" } ?? ""
    return
      "topic \(name(of: record.topic)) does not take a record of \(record.size) bytes: \(error)\(remedy)"
  }

  /// The same for a `Delivery` that is `refused`; after the next `drainDeliveries`, the error alone.
  public func describe(refused tag: UInt, _ error: KafkaError) -> String {
    refusedRecord(tag).map { describe($0, error) } ?? "\(error)"
  }

  /// Produces a record; copies the bytes.
  ///
  /// - Parameters:
  ///   - key: selects the partition; `baseAddress` nil means no key, and any partition.
  ///   - tag: returned in the record's `Delivery`.
  public func produce(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, tag: UInt
  ) -> ProduceResult {
    submit(topic, key: key, value: value, headers: nil, tag: tag)
  }

  /// Produces a record with headers, or without a value (nil: a tombstone). Not for hot paths: headers are the most
  /// expensive part of producing.
  public func produce(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?,
    headers: [KafkaHeader], tag: UInt
  ) -> ProduceResult {
    let list = headers.isEmpty ? nil : rd_kafka_headers_new(headers.count)
    for header in headers {
      _ = header.value.withUnsafeBytes {
        rd_kafka_header_add(list, header.name, -1, $0.baseAddress ?? emptyBytes, $0.count)
      }
    }
    let result = submit(
      topic, key: key, value: value ?? UnsafeRawBufferPointer(start: nil, count: 0), headers: list,
      tag: tag)
    if case .queued = result { return result }
    if let list { rd_kafka_headers_destroy(list) }
    return result
  }

  /// The same for a record in arrays; without a key it goes to any partition.
  public func produce(
    _ topic: KafkaTopic, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = [], tag: UInt
  ) -> ProduceResult {
    withBytes(key) { key in
      withBytes(value) { bytes in
        produce(topic, key: key, value: value == nil ? nil : bytes, headers: headers, tag: tag)
      }
    }
  }

  private func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    guard let bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    return bytes.withUnsafeBytes(body)
  }

  private func submit(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    headers: OpaquePointer?, tag: UInt
  ) -> ProduceResult {
    guard let raw = client?.raw, !isWaiting else { return .full }
    let slot = records.insert(tag)
    let code = martlet_produce(
      raw, topics[Int(topic.index)].handle, -1, key.baseAddress, key.count,
      value.baseAddress, value.count, UnsafeMutableRawPointer(bitPattern: slot + 1), headers)
    if code == RD_KAFKA_RESP_ERR_NO_ERROR {
      outstandingBytes += key.count + value.count
      produced &+= 1
      return .queued
    }
    if code != RD_KAFKA_RESP_ERR__QUEUE_FULL, code != RD_KAFKA_RESP_ERR__FATAL,
      case .passing = DeliveryFailure(code)
    {
      // The client's metadata says that the topic does not exist or may not be written, as a broker's response would.
      outstandingBytes += key.count + value.count
      note(code, of: Int(topic.index))
      hold(slot, Int(topic.index), key: key, value: value, headers: headers, code)
      return .queued
    }
    _ = records.remove(slot)
    if code == RD_KAFKA_RESP_ERR__QUEUE_FULL { return .full }
    if code == RD_KAFKA_RESP_ERR__FATAL {
      beginRecovery()
      return .full
    }
    return .refused(KafkaError(code, "topic \(topics[Int(topic.index)].name) refused a record"))
  }

  /// Returns the final delivery results that have arrived; transient errors are handled here.
  public func drainDeliveries() -> [Delivery] {
    deliveries.removeAll(keepingCapacity: true)
    swap(&deliveries, &early)
    serve(into: &deliveries)
    isQuiet = outstanding == 0
    if isQuiet, !deliveries.isEmpty { rests += 1 }
    if !returned.isEmpty || !refused.isEmpty { (returned, refused) = (refused, []) }
    return deliveries
  }

  /// Handles delivery reports that have arrived, and produces failed records again.
  private func serve(into deliveries: inout [Delivery]) {
    collect(into: &deliveries)
    if recovery.isUnderWay {
      continueRecovery(into: &deliveries)
    } else if !failures.isEmpty {
      produceFailed(into: &deliveries)
    }
  }

  private func collect(into deliveries: inout [Delivery]) {
    while let client, let event = rd_kafka_queue_poll(client.events, 0) {
      switch rd_kafka_event_type(event) {
      case RD_KAFKA_EVENT_DR:
        while let message = rd_kafka_event_message_next(event) {
          answered(message, &deliveries)
        }
      case RD_KAFKA_EVENT_ERROR: failed(event)
      default: break
      }
      rd_kafka_event_destroy(event)
    }
  }

  private func answered(
    _ message: UnsafePointer<rd_kafka_message_t>, _ deliveries: inout [Delivery]
  ) {
    let slot = Int(bitPattern: message.pointee._private) - 1
    let code = message.pointee.err
    let isAlone = records[slot].isAlone
    if isAlone { recovery.hasLoneRecord = false }
    if code != RD_KAFKA_RESP_ERR_NO_ERROR {
      note(code, of: topicIndex(message.pointee.rkt))
      let failure = DeliveryFailure(code)
      if failure == .passing || (failure == .ofBatch && !isAlone) {
        return hold(message, slot, code)
      }
      refused.append(refusedRecord(message, tag: records[slot].tag))
    }
    recovery.pause = ProducerRecovery.firstPause
    if code == RD_KAFKA_RESP_ERR_NO_ERROR, refusedID != nil || !unauthorized.isEmpty {
      let topic = topicIndex(message.pointee.rkt)
      unauthorized[topic] = nil
      taking.insert(topic)
    }
    if refusedID != nil { refusedID = nil }
    outstandingBytes -= message.pointee.len + message.pointee.key_len
    answered &+= 1
    deliveries.append(
      Delivery(
        tag: records.remove(slot), offset: message.pointee.offset,
        partition: message.pointee.partition, errorCode: code.rawValue))
  }

  private func failed(_ event: OpaquePointer) {
    let code = rd_kafka_event_error(event)
    let isFatal = rd_kafka_event_error_is_fatal(event) != 0 || code == RD_KAFKA_RESP_ERR__FATAL
    lastError = KafkaError(
      code: code.rawValue, message: String(cString: rd_kafka_event_error_string(event)),
      isFatal: isFatal, isRetriable: !isFatal)
    guard isFatal else { return }
    if let error = fatalError, error.isOfAuthorization {
      refusals += 1
      refusedID = (error, MonotonicClock.milliseconds())
      taking = []
    }
    beginRecovery()
  }

  /// The reason of a fatal error, which its event does not contain.
  private var fatalError: KafkaError? {
    guard let client else { return nil }
    let code = rd_kafka_fatal_error(client.raw, nil, 0)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
      ? nil : KafkaError(code, "no producer id", isFatal: true)
  }

  /// Sends the records produced since `drainDeliveries` without lingering, if everything before them was acknowledged
  /// by then (Nagle's algorithm, RFC 1122 §4.2.3.4): a single record goes at once, and under load batches form while
  /// others are in flight. Does nothing while many arrive one by one (`ProducerPace`). Call it at the end of a turn
  /// without further work.
  public func sendPromptly() {
    guard isQuiet, outstanding > 0, let client,
      !pace.isBusy(now: MonotonicClock.milliseconds(), produced: produced, rests: rests)
    else { return }
    isQuiet = false
    // If no thread can be created, the records linger.
    if prompt == nil { prompt = PromptSending(client.raw) }
    prompt?.request()
  }

  /// Sends queued records without lingering and waits for all results; the next `drainDeliveries` returns them. Returns
  /// whether every record has a result.
  public func flush(timeoutMilliseconds: UInt64) -> Bool {
    let deadline = MonotonicClock.milliseconds() + timeoutMilliseconds
    while outstanding > 0 {
      if let client { rd_kafka_flush(client.raw, 5) }
      serve(into: &early)
      if outstanding > 0 && MonotonicClock.milliseconds() >= deadline { return false }
      if recovery.isUnderWay || !failures.isEmpty { usleep(5_000) }
    }
    return true
  }

  /// Discards every unacknowledged record and continues with a new client: for an owner that has lost its partitions,
  /// so that none of its records reaches a topic behind the next owner's. No delivery is reported for them. Those
  /// already in flight may still be stored.
  ///
  /// - Returns: the number of records discarded.
  @discardableResult
  public func abandon() -> Int {
    let count = outstanding
    early.removeAll()
    refused.removeAll()
    guard count > 0 else { return 0 }
    dropClient()
    records.removeAll()
    outstandingBytes = 0
    recovery = ProducerRecovery()
    unauthorized = [:]
    connectAnew()
    return count
  }

  /// Ends the client. Unacknowledged records may or may not be stored: flush first.
  public func close() {
    guard client != nil else { return }
    dropClient()
  }

  private func dropClient() {
    if let client, outstanding > 0 {
      rd_kafka_purge(client.raw, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT)
    }
    if client != nil { destroyClient() }
    for record in failures { record.destroyHeaders() }
    failures = []
  }

  func destroyClient() {
    prompt.take()?.end()
    for topic in topics { rd_kafka_topic_destroy(topic.handle) }
    client?.destroy()
    client = nil
  }
}

/// A pointer for empty header values: librdkafka treats nil as a null value.
private nonisolated(unsafe) let emptyBytes = UnsafeRawPointer(
  UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))
