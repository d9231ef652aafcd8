// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

/// A record of a lane or of a retry topic.
struct LogRecord {
  /// Which notification it is of.
  var notification: Int
  var facts: PushFacts
  /// When it was written, in milliseconds since the epoch.
  var written: Int64
  /// What it ended in is stored in Kafka.
  var isSettled = false
}

/// What is known of one notification, that is of one `apns-id`, from all sides.
struct Notification {
  let id: NotificationID
  /// The lane's partition that its first record went to, and which log of it.
  var firstLog: (partition: Int, log: Int)?
  /// Where that was, and whose state it is, if it has a key.
  var firstOffset: Int64 = -1
  var state = StateFacts.none
  /// The newest place at which it was taken for a new push, by an owner that did not have the window of ids.
  var takenAsNewAt: Int64 = -1
  /// Its receipts and dead letters that Kafka has stored, a bit for each `Outcome`.
  private var outcomes: UInt16 = 0
  /// How often APNs accepted it.
  var accepted = 0
  /// How often it could become one more time without anybody's fault: a send whose answer was lost, a record that was
  /// read again.
  var excusable = 0
  /// Kafka lost a record of it: retention or a topic that was made again.
  var isRemoved = false

  init(id: NotificationID) { self.id = id }

  mutating func add(_ outcome: Outcome) { outcomes |= 1 << UInt16(outcome.rawValue) }
  func has(_ outcome: Outcome) -> Bool { outcomes & 1 << UInt16(outcome.rawValue) != 0 }
  /// Whether it ended in anything but being called a repeat.
  var hasOutcome: Bool { outcomes & ~(1 << UInt16(Outcome.deduplicated.rawValue)) != 0 }
  /// Whether it was superseded, and nothing else became of it: one that went back to its lane may be taken twice after a
  /// crash, and one of the two ends so.
  var isOnlySuperseded: Bool {
    let repeated: UInt16 = 1 << UInt16(Outcome.deduplicated.rawValue)
    return outcomes & ~repeated == 1 << UInt16(Outcome.superseded.rawValue)
  }
  var hasAny: Bool { outcomes != 0 }
}
