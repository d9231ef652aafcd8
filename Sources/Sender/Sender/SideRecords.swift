// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import SenderDecisions
import ServiceKit

/// A record on its way to the feedback, retry or dead-letter topic.
///
/// The receipt follows only when Kafka has acknowledged it, so that whoever reads the receipt finds the
/// feedback or dead letter in place; without a receipt line (a retry) the acknowledgement itself completes
/// the record.
struct SideRecord {
  /// What the acknowledgement completes, at once or with the receipt; nil: nothing waits for it.
  var origin: Origin?
  /// The receipt to write then, or empty.
  var receipt: [UInt8] = []
}

/// A side record that the producer has not taken yet.
struct BlockedSide {
  var topic: KafkaTopic
  var key: [UInt8]
  var value: [UInt8]
  var headers: [KafkaHeader]
  var side: SideRecord

  /// A shorter one, for a topic that takes no larger record; nil when it is as short as a dead letter may be.
  func cut() -> BlockedSide? {
    guard let size = DeadLetterCut(ofRefusedKey: key.count, value: value.count) else { return nil }
    var cut = self
    cut.key = Array(key.prefix(size.key))
    cut.value = Array(value.prefix(size.value))
    var letter = DeadLetter(headers)
    letter.note(size)
    cut.headers = letter.kafkaHeaders
    return cut
  }
}

/// Side records in flight, in slots that are reused. Rare: answers other than 200. Owner: one sender loop.
struct SideRecords {
  private var slots: [SideRecord] = []
  private var free: [Int] = []

  var count: Int { slots.count - free.count }

  mutating func add(_ record: SideRecord) -> Int {
    if let slot = free.popLast() {
      slots[slot] = record
      return slot
    }
    slots.append(record)
    return slots.count - 1
  }

  mutating func remove(_ slot: Int) -> SideRecord {
    free.append(slot)
    let record = slots[slot]
    slots[slot].receipt = []
    return record
  }
}

/// What a delivery report is about, packed into the producer's tag.
enum DeliveryTag {
  case receipts(slot: Int)
  case side(slot: Int)

  init(_ tag: UInt) {
    let slot = Int(tag >> 1)
    self = tag & 1 == 0 ? .receipts(slot: slot) : .side(slot: slot)
  }

  var value: UInt {
    switch self {
    case .receipts(let slot): UInt(slot) << 1
    case .side(let slot): UInt(slot) << 1 | 1
    }
  }
}
