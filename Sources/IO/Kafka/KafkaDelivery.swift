// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// A topic of one producer. Stays valid when the producer replaces its client.
package struct KafkaTopic: Sendable, Hashable {
  let index: Int32
}

/// What became of a call to `produce`.
package enum ProduceResult: Sendable {
  /// Accepted; a `Delivery` with the record's tag will follow.
  case queued
  /// No room now; keep the record and try again after the next deliveries.
  case full
  /// The record will never be taken: too large, no such topic.
  case refused(KafkaError)
}

/// The final answer about one produced record. Plain old data.
package struct Delivery: Sendable {
  /// What the caller gave `produce`.
  package let tag: UInt
  /// −1 when the broker did not say (a retried record that it already had).
  package let offset: Int64
  package let partition: Int32
  /// 0: the record is stored as the `acks` setting asks. Otherwise see `refused`.
  package let errorCode: Int32

  /// Why the broker will never take the record; nil when it has it.
  package var refused: KafkaError? {
    guard errorCode != 0 else { return nil }
    return KafkaError(rd_kafka_resp_err_t(errorCode), "the broker refused a record")
  }
}

/// Answers to a record that no repetition changes. A lack of authorisation is none of them: somebody mends it, and
/// until then nothing more is taken in.
enum Refusal {
  private static let codes: Set<Int32> = [
    RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE.rawValue, RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE.rawValue,
    RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE.rawValue, RD_KAFKA_RESP_ERR_INVALID_RECORD.rawValue,
    RD_KAFKA_RESP_ERR_INVALID_TIMESTAMP.rawValue, RD_KAFKA_RESP_ERR_POLICY_VIOLATION.rawValue,
    RD_KAFKA_RESP_ERR_UNSUPPORTED_FOR_MESSAGE_FORMAT.rawValue,
    RD_KAFKA_RESP_ERR_UNSUPPORTED_COMPRESSION_TYPE.rawValue,
    RD_KAFKA_RESP_ERR_INVALID_REQUIRED_ACKS.rawValue,
    RD_KAFKA_RESP_ERR_TOPIC_EXCEPTION.rawValue, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC.rawValue,
    RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION.rawValue,
    RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART.rawValue,
    RD_KAFKA_RESP_ERR__INVALID_ARG.rawValue, RD_KAFKA_RESP_ERR__BAD_COMPRESSION.rawValue,
  ]

  static func isFinal(_ code: rd_kafka_resp_err_t) -> Bool { codes.contains(code.rawValue) }
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
  }

  private(set) var count = 0
  private var slots: UnsafeMutablePointer<Slot>
  private var capacity = 0
  private var free = -1
  private var nextSequence: UInt64 = 0

  init() { slots = .allocate(capacity: 1) }

  deinit { slots.deallocate() }

  subscript(index: Int) -> Slot { slots[index] }

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
    slots[index].next = free
    free = index
    count -= 1
    return slots[index].tag
  }

  /// Frees all slots; their order goes on.
  mutating func removeAll() {
    count = 0
    free = -1
    for index in stride(from: capacity - 1, through: 0, by: -1) {
      slots[index].next = free
      free = index
    }
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
