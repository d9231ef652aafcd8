// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop
internal import Glibc

/// Produces records idempotently and in batches, and says of each when the broker has it.
///
/// Owned by one thread. It gives no record up that Kafka may yet take: an outage, a topic that is not there and a
/// missing right are waited out, and an error that ends librdkafka's client is answered by a new client that
/// produces every unanswered record again, in their order. Such a repetition may store a record twice. Only what
/// is refused although it was a batch of its own comes back. Call `drainDeliveries` when the wakeup is
/// signalled and every 100 ms while something is outstanding: repetitions happen there.
public final class KafkaProducer {
  let configuration: KafkaConfiguration
  let wakeup: Wakeup?
  var client: KafkaClient?
  var topics: [(name: String, handle: OpaquePointer)] = []
  var records = OutstandingRecords()
  /// Copies of records whose delivery failed for a reason that time heals.
  var failures: [FailedRecord] = []
  var recovery = ProducerRecovery()
  /// What the last `drainDeliveries` returned: its memory is used again.
  private var deliveries: [Delivery] = []
  /// Answers that `flush` collected.
  private var early: [Delivery] = []
  /// Sends records that are alone; nil until there is one.
  private var prompt: PromptSending?
  /// Records that librdkafka has taken.
  private var produced: UInt64 = 0
  /// Records that Kafka has answered for.
  private var answered: UInt64 = 0
  private var pace = ProducerPace()
  /// Everything was acknowledged when the answers were last looked at.
  private var isQuiet = true
  private let limitRecords: Int
  private let limitBytes: Int

  /// The number of records that wait for their answer.
  public var outstanding: Int { records.count }
  /// The keys and values of these, in bytes.
  public internal(set) var outstandingBytes = 0
  /// For how long the oldest record without an answer has waited at least, in milliseconds; 0 without one. To be asked
  /// after every `drainDeliveries`, at least once a second: time in which nobody took answers does not count.
  ///
  /// - Parameter now: monotonic milliseconds.
  public func oldestWait(now: UInt64) -> UInt64 { records.oldestWait(now: now) }

  /// The number of times that the client was replaced after a fatal error.
  public internal(set) var restarts = 0
  /// The last thing that went wrong with the connection to Kafka; for health pages.
  public internal(set) var lastError: KafkaError?
  /// The number of times that Kafka has answered that it does not take a record as it is, or not now.
  public internal(set) var refusals = 0
  /// The topic and the reason of the last such answer.
  var lastRefusal: (topic: Int, error: KafkaError)?
  /// Kafka gave the client no producer id, and when it said so (monotonic milliseconds): this user may write to none of
  /// its topics. Every further client asks again.
  var refusedID: (error: KafkaError, at: UInt64)?
  /// The content of refused records: of those that are to come out of the next `drainDeliveries`, and of those
  /// that came out of the last.
  var refused: [RefusedRecord] = []
  private var returned: [RefusedRecord] = []

  /// Creates the client; does not wait for a broker.
  ///
  /// - Parameter wakeup: signalled when there are deliveries to drain.
  ///
  /// Throws for properties that librdkafka does not take.
  public init(_ configuration: KafkaConfiguration, wakeup: Wakeup? = nil) throws(KafkaError) {
    self.configuration = configuration
    self.wakeup = wakeup
    let native = try configuration.makeNative(.producer)
    limitRecords = native.integer("queue.buffering.max.messages") ?? 100_000
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

  /// Looks a topic up at the cluster, so that the first record does not wait for that, nor for the producer's id.
  ///
  /// Throws when the topic does not exist or no broker answers within the time.
  public func topic(
    named name: String, timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) -> KafkaTopic {
    if let index = topics.firstIndex(where: { $0.name == name }) {
      return KafkaTopic(index: Int32(index))
    }
    let handle = try newHandle(name)
    do throws(KafkaError) {
      // librdkafka asks for the id when a look-up is answered, or 500 ms after its start. From 2.10 on it cannot yet at
      // the first answer: that came from a bootstrap server, and the broker that it names is not connected.
      for _ in 0..<(topics.isEmpty ? 2 : 1) {
        _ = try partitionCount(client!.raw, handle, timeoutMilliseconds: timeoutMilliseconds)
      }
    } catch {
      rd_kafka_topic_destroy(handle)
      throw error
    }
    topics.append((name, handle))
    return KafkaTopic(index: Int32(topics.count - 1))
  }

  /// A topic that is known to exist: no broker is asked, and none needs to be there.
  public func topic(known name: String) throws(KafkaError) -> KafkaTopic {
    if let index = topics.firstIndex(where: { $0.name == name }) {
      return KafkaTopic(index: Int32(index))
    }
    topics.append((name, try newHandle(name)))
    return KafkaTopic(index: Int32(topics.count - 1))
  }

  private func newHandle(_ name: String) throws(KafkaError) -> OpaquePointer {
    guard let client, let handle = rd_kafka_topic_new(client.raw, name, nil) else {
      throw .invalid("cannot produce to topic \(name)")
    }
    return handle
  }

  /// True if the next `produce` is sure to return `.full`.
  public var isFull: Bool {
    isWaiting || records.count >= limitRecords || outstandingBytes >= limitBytes
  }

  /// A new record must not overtake those that wait to be produced again, nor join the batch of one that is to be
  /// alone in it.
  private var isWaiting: Bool {
    recovery.isUnderWay || recovery.hasLoneRecord || !failures.isEmpty
  }

  /// The records that Kafka does not take now, and the reason; nil while nothing waits for that. A broker that is away
  /// is no trouble of this kind.
  public var trouble: ProducerTrouble? {
    if let refusedID, MonotonicClock.milliseconds() < refusedID.at + ProducerRecovery.idPatience {
      return ProducerTrouble(
        waiting: outstanding, topics: topics.map(\.name), error: refusedID.error)
    }
    guard outstanding > 0, isWaiting || recovery.pause > ProducerRecovery.firstPause else {
      return nil
    }
    // Between two attempts nothing waits here: the last failure is still the refusal if it says the same.
    if let lastRefusal, !failures.isEmpty || lastRefusal.error.code == lastError?.code {
      return ProducerTrouble(
        waiting: outstanding, topics: [topics[lastRefusal.topic].name], error: lastRefusal.error)
    }
    return lastError.map { ProducerTrouble(waiting: outstanding, topics: [], error: $0) }
  }

  /// Where it stands, as of the last answers that were taken.
  public var standing: ProducerSnapshot {
    ProducerSnapshot(
      answered: answered, outstanding: outstanding, trouble: trouble, lastError: lastError)
  }

  /// The name of a topic of this producer.
  public func name(of topic: KafkaTopic) -> String { topics[Int(topic.index)].name }

  /// The content of a record whose `Delivery` says `refused`; nil after the next `drainDeliveries`.
  public func refusedRecord(_ tag: UInt) -> RefusedRecord? {
    returned.first { $0.tag == tag }
  }

  /// Why a record came back, in words: its topic, its size, what Kafka said of it and what can be done.
  public func describe(_ record: RefusedRecord, _ error: KafkaError) -> String {
    let remedy = error.remedy.map { "; \($0)" } ?? ""
    return
      "topic \(name(of: record.topic)) does not take a record of \(record.size) bytes: \(error)\(remedy)"
  }

  /// Hands a record over; copies the bytes.
  ///
  /// - Parameters:
  ///   - key: chooses the partition; one with `baseAddress` nil is no key, and any partition does.
  ///   - tag: comes back in the record's `Delivery`.
  public func produce(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, tag: UInt
  ) -> ProduceResult {
    submit(topic, key: key, value: value, headers: nil, tag: tag)
  }

  /// Hands a record over that has headers, or no value (nil: a tombstone). Not for hot paths:
  /// headers are the dearest part of producing.
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

  /// The same for a record in arrays; without a key any partition does.
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
      // The client knows that the topic is not there, or not ours to write: what an answer of Kafka's would say.
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

  /// Takes the answers that have arrived. Only final ones: errors that pass are handled here.
  public func drainDeliveries() -> [Delivery] {
    deliveries.removeAll(keepingCapacity: true)
    swap(&deliveries, &early)
    serve(into: &deliveries)
    isQuiet = outstanding == 0
    if !returned.isEmpty || !refused.isEmpty { (returned, refused) = (refused, []) }
    return deliveries
  }

  /// Takes what has arrived, and produces again what has to be.
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
    }
    beginRecovery()
  }

  /// The reason of a fatal error: its event only says that there is one.
  private var fatalError: KafkaError? {
    guard let client else { return nil }
    let code = rd_kafka_fatal_error(client.raw, nil, 0)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR
      ? nil : KafkaError(code, "no producer id", isFatal: true)
  }

  /// Sends what was produced since `drainDeliveries` without lingering, if everything before it was acknowledged by then
  /// (Nagle's rule, RFC 1122 §4.2.3.4): a record that is alone goes at once, and under load batches form while others
  /// are on their way. Not while many come one by one (`ProducerPace`). Call it at the end of a turn that found no
  /// further work.
  public func sendPromptly() {
    guard isQuiet, outstanding > 0, let client,
      !pace.isBusy(now: MonotonicClock.milliseconds(), produced: produced)
    else { return }
    isQuiet = false
    // Without a thread for it the records linger.
    if prompt == nil { prompt = PromptSending(client.raw) }
    prompt?.request()
  }

  /// Sends what waits without lingering and waits for all answers; they come out of the next
  /// `drainDeliveries`. Returns whether every record has its answer.
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

  /// Gives up every record without an answer and goes on with a new client: for an owner that has lost what it
  /// wrote for, so that nothing of it reaches a topic behind the next owner's records. No answer to these records
  /// comes. What is on the wire already may still be stored.
  ///
  /// - Returns: how many records were given up.
  @discardableResult
  public func abandon() -> Int {
    let count = outstanding
    early.removeAll()
    guard count > 0 else { return 0 }
    dropClient()
    records.removeAll()
    outstandingBytes = 0
    recovery = ProducerRecovery()
    connectAnew()
    return count
  }

  /// Ends the client. Records without an answer may or may not be stored: flush before.
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

/// A place for an empty header value: librdkafka takes a nil pointer for a null value.
private nonisolated(unsafe) let emptyBytes = UnsafeRawPointer(
  UnsafeMutableRawPointer.allocate(byteCount: 1, alignment: 1))
