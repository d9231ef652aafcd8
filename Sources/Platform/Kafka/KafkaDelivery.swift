// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// A topic of one producer. Stays valid when the producer replaces its client.
public struct KafkaTopic: Sendable, Hashable {
  let index: Int32
}

/// The result of a call to `produce`.
public enum ProduceResult: Sendable {
  /// Accepted; a `Delivery` with the record's tag will follow.
  case queued
  /// No room now; keep the record and try again after the next deliveries.
  case full
  /// This client will never take the record: it is larger than `message.max.bytes`.
  case refused(KafkaError)
}

/// The final answer about one produced record. Plain old data.
public struct Delivery: Sendable {
  /// The tag that the caller gave `produce`.
  public let tag: UInt
  /// −1 when the broker did not say (a retried record that it already had).
  public let offset: Int64
  public let partition: Int32
  /// 0: the record is stored as the `acks` setting asks. Otherwise see `refused`.
  public let errorCode: Int32

  /// Why no repetition makes the broker take the record as it is; nil when it has it. `KafkaProducer.refusedRecord`
  /// has its content.
  public var refused: KafkaError? {
    guard errorCode != 0 else { return nil }
    return KafkaError(rd_kafka_resp_err_t(errorCode), "the broker refused a record")
  }
}

/// The meaning of a delivery error for its record.
///
/// Whatever is about the cluster passes: a topic that is made again, a right that is granted, a policy that is
/// changed. It is waited for, and said (`KafkaProducer.trouble`).
enum DeliveryFailure {
  /// Time or an operator heals it: the record is produced again until it is taken.
  case passing
  /// A record of the batch is too large or invalid, or the batch as a whole is too large: each of its records is
  /// produced again alone, and refused if that fails, too.
  case ofBatch
  /// This client's own settings: no repetition changes it.
  case ofClient

  private static let batchCodes: Set<Int32> = [
    RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE.rawValue, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE.rawValue,
    RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE.rawValue, RD_KAFKA_RESP_ERR_INVALID_RECORD.rawValue,
  ]
  private static let clientCodes: Set<Int32> = [
    RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT.rawValue,
    RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE.rawValue,
    RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS.rawValue, RD_KAFKA_RESP_ERR__INVALID_ARG.rawValue,
    RD_KAFKA_RESP_ERR__BAD_COMPRESSION.rawValue,
  ]
  /// The topic or the partition is not what this client believes: another partition may do.
  private static let placeCodes: Set<Int32> = [
    RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC.rawValue, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.rawValue,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue,
  ]
  /// The errors of records when their client ends: no answer of Kafka's.
  private static let endCodes: Set<Int32> = [
    RD_KAFKA_RESP_ERR__PURGE_QUEUE.rawValue, RD_KAFKA_RESP_ERR__PURGE_INFLIGHT.rawValue,
    RD_KAFKA_RESP_ERR__FATAL.rawValue, RD_KAFKA_RESP_ERR__DESTROY.rawValue,
  ]

  init(_ code: rd_kafka_resp_err_t) {
    self =
      if Self.batchCodes.contains(code.rawValue) {
        .ofBatch
      } else if Self.clientCodes.contains(code.rawValue) {
        .ofClient
      } else {
        .passing
      }
  }

  /// True if the record's partition is to be chosen again.
  static func isOfPlace(_ code: rd_kafka_resp_err_t) -> Bool { placeCodes.contains(code.rawValue) }

  /// True if Kafka itself has said that it does not take the record; a lost connection is no answer.
  static func isAnswer(_ code: rd_kafka_resp_err_t) -> Bool {
    !endCodes.contains(code.rawValue) && !KafkaError(code, "").isRetriable
  }
}

/// Records that wait in a producer because Kafka does not take them.
public struct ProducerTrouble: Sendable {
  /// The number that have no answer yet.
  public let waiting: Int
  /// The topic that was refused last, or all of the producer's when no record came so far; empty when it is no matter of
  /// a topic.
  public let topics: [String]
  public let error: KafkaError
}

/// Where a producer stands, for whoever waits for it.
public struct ProducerSnapshot: Sendable {
  /// Records that Kafka has answered for since the producer was made, and those that it has not.
  public let answered: UInt64
  public let outstanding: Int
  /// What Kafka does not take now, and why.
  public let trouble: ProducerTrouble?
  /// The last thing that went wrong with a connection.
  public let lastError: KafkaError?
}

/// A record that was given back with a `Delivery` that says `refused`.
public struct RefusedRecord: Sendable {
  public let tag: UInt
  public let topic: KafkaTopic
  public let key: [UInt8]?
  public let value: [UInt8]?
  public let headers: [KafkaHeader]

  /// Bytes of key and value.
  public var size: Int { (key?.count ?? 0) + (value?.count ?? 0) }
}

/// The records a producer has accepted and not yet answered for: their tags and their order.
///
/// librdkafka carries one pointer for each record; it is the slot's number here.
struct OutstandingRecords: ~Copyable {
  struct Slot {
    var tag: UInt
    /// Counts produced records: the order to produce them again in.
    var sequence: UInt64
    var next: Int
    /// It is a batch of its own: what is wrong with the batch is wrong with it.
    var isAlone = false
  }

  private(set) var count = 0
  private var slots: UnsafeMutablePointer<Slot>
  private var capacity = 0
  private var free = -1
  private var nextSequence: UInt64 = 0
  private var wait = UnansweredWait()

  init() { slots = .allocate(capacity: 1) }

  deinit { slots.deallocate() }

  subscript(index: Int) -> Slot { slots[index] }

  mutating func setAlone(_ index: Int) { slots[index].isAlone = true }

  mutating func insert(_ tag: UInt) -> Int {
    if free < 0 { grow() }
    let index = free
    free = slots[index].next
    slots[index] = Slot(tag: tag, sequence: nextSequence, next: -1)
    nextSequence += 1
    count += 1
    return index
  }

  /// Frees a slot and returns its tag.
  mutating func remove(_ index: Int) -> UInt {
    wait.answered(slots[index].sequence)
    slots[index].next = free
    free = index
    count -= 1
    return slots[index].tag
  }

  /// Frees all slots; their order goes on.
  mutating func removeAll() {
    wait = UnansweredWait()
    count = 0
    free = -1
    for index in stride(from: capacity - 1, through: 0, by: -1) {
      slots[index].next = free
      free = index
    }
  }

  /// For how long the oldest record has waited at least, in milliseconds (`UnansweredWait`).
  ///
  /// - Parameter now: monotonic milliseconds.
  mutating func oldestWait(now: UInt64) -> UInt64 {
    wait.look(next: nextSequence, count: count, now: now)
  }

  private mutating func grow() {
    let larger = max(1_024, capacity * 2)
    let moved = UnsafeMutablePointer<Slot>.allocate(capacity: larger)
    moved.moveInitialize(from: slots, count: capacity)
    for index in stride(from: larger - 1, through: capacity, by: -1) {
      (moved + index).initialize(to: Slot(tag: 0, sequence: 0, next: free))
      free = index
    }
    slots.deallocate()
    slots = moved
    capacity = larger
  }
}
