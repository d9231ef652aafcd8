// SPDX-License-Identifier: Apache-2.0
import APNS
import Dispatch
import Pipeline

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

/// What is known of one notification from all sides.
struct Notification {
  let id: NotificationID
  /// An earlier one has the same `apns-id`: the request was sent twice.
  let isRepeat: Bool
  /// Its receipts and dead letters that Kafka has stored.
  var outcomes: [Outcome] = []
  /// How often APNs accepted it.
  var accepted = 0
  /// How often it could become one more time without anybody's fault: a send whose answer was lost, a record that was
  /// read again.
  var excusable = 0
}
