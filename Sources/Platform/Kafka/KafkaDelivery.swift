// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// A topic of one producer. Stays valid when the producer replaces its client.
public struct KafkaTopic: Sendable, Hashable {
  let index: Int32
}

public enum ProduceResult: Sendable {
  /// Accepted; a `Delivery` with the record's tag will follow.
  case queued
  /// The queue is full; keep the record and try again after the next deliveries.
  case full
  /// This client will never accept the record: it is larger than `message.max.bytes`.
  case refused(KafkaError)
}

/// The final result of one produced record. Plain old data.
public struct Delivery: Sendable {
  /// The tag that the caller passed to `produce`.
  public let tag: UInt
  /// −1 when the broker did not report it (a retried record that it already had).
  public let offset: Int64
  public let partition: Int32
  /// 0: the record is stored as the `acks` setting requires. Otherwise see `refused`.
  public let errorCode: Int32

  /// Why retrying cannot make the broker accept the record as it is; nil if it was stored.
  /// `KafkaProducer.refusedRecord` has its content.
  public var refused: KafkaError? {
    guard errorCode != 0 else { return nil }
    return KafkaError(rd_kafka_resp_err_t(errorCode), "the broker refused a record")
  }
}

/// Classifies a delivery error.
///
/// Errors of the cluster are transient: a topic may be recreated, an ACL granted, a policy changed. The producer
/// retries and reports them (`KafkaProducer.trouble`).
enum DeliveryFailure {
  /// Transient or fixed by an operator: the record is produced again until it is accepted.
  case passing
  /// A record of the batch is too large or invalid, or the batch as a whole is too large: each of its records is
  /// produced again in a batch of its own, and refused if that fails, too.
  case ofBatch
  /// Caused by this client's own settings: retrying does not help.
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
  /// The topic or partition differs from the cached metadata: another partition may work.
  private static let placeCodes: Set<Int32> = [
    RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC.rawValue, RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.rawValue,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue,
  ]
  /// The errors of records whose client is destroyed; they do not come from Kafka.
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

  /// True if a partition must be chosen again for the record.
  static func isOfPlace(_ code: rd_kafka_resp_err_t) -> Bool { placeCodes.contains(code.rawValue) }

  /// True if a broker rejected the record; a lost connection is not a rejection.
  static func isAnswer(_ code: rd_kafka_resp_err_t) -> Bool {
    !endCodes.contains(code.rawValue) && !KafkaError(code, "").isRetriable
  }
}

/// Records that wait in a producer because Kafka rejects them.
public struct ProducerTrouble: Sendable {
  /// The number of records that are not acknowledged yet.
  public let waiting: Int
  /// The topic that was rejected last, or all of the producer's topics if no record was produced yet; empty when the
  /// cause is not a topic.
  public let topics: [String]
  public let error: KafkaError

  public init(waiting: Int, topics: [String], error: KafkaError) {
    self.waiting = waiting
    self.topics = topics
    self.error = error
  }
}

public struct ProducerSnapshot: Sendable {
  /// The numbers of records that Kafka has and has not acknowledged since the producer was created.
  public let answered: UInt64
  public let outstanding: Int
  /// The records that Kafka currently rejects, and the reason.
  public let trouble: ProducerTrouble?
  public let lastError: KafkaError?
}

/// A record that was returned with a `Delivery` whose `refused` is set.
public struct RefusedRecord: Sendable {
  public let tag: UInt
  public let topic: KafkaTopic
  public let key: [UInt8]?
  public let value: [UInt8]?
  public let headers: [KafkaHeader]

  public var size: Int { (key?.count ?? 0) + (value?.count ?? 0) }
}

/// The records that a producer has accepted and that are not acknowledged yet: their tags and their order.
///
/// librdkafka carries one opaque pointer for each record; here it is the slot's number.
struct OutstandingRecords: ~Copyable {
  struct Slot {
    var tag: UInt
    /// Counts produced records; retries keep this order.
    var sequence: UInt64
    var next: Int
    /// True if it is in a batch of its own, so that an error of the batch is an error of this record.
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

  mutating func remove(_ index: Int) -> UInt {
    wait.answered(slots[index].sequence)
    slots[index].next = free
    free = index
    count -= 1
    return slots[index].tag
  }

  /// Frees all slots; the sequence continues.
  mutating func removeAll() {
    wait = UnansweredWait()
    count = 0
    free = -1
    for index in stride(from: capacity - 1, through: 0, by: -1) {
      slots[index].next = free
      free = index
    }
  }

  /// A lower bound of how long the oldest record has waited, in milliseconds (`UnansweredWait`).
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
