// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Telemetry

/// What ingest counts. Every token of a request ends as a notification, suppressed, or a dead letter.
enum IngestCounter: Int, CounterKey {
  /// Records taken out of Kafka.
  case requests
  /// Notifications handed to Kafka.
  case notifications
  /// Tokens known to be invalid.
  case suppressed
  /// Requests that were refused as a whole.
  case badRequests
  /// Tokens that were refused by themselves.
  case badTokens
  /// Notifications that were too large for their topic, and are dead letters.
  case tooLarge
  /// Notifications to tokens outside 32 to 128 bytes: allowed, but not what devices have today.
  case unusualTokens
  /// Requests whose payload has a mistake that devices ignore.
  case ineffectivePayloads
  /// Requests whose `traceparent` header is none, and was dropped.
  case invalidTraceParents
  /// Requests handed to the schedule because their time had not come.
  case scheduled
  /// Requests dropped from memory because their partition was taken away; the next owner has them.
  case handedBack
  /// Turns in which nothing was taken because Kafka or the readers were behind.
  case blocked
  case inFlight
  /// Age of the oldest request that was taken and is not complete.
  case backlogMilliseconds
  case invalidTokens
  case partitionsAssigned

  var kind: CounterKind {
    switch self {
    case .inFlight, .backlogMilliseconds, .invalidTokens, .partitionsAssigned: .gauge
    default: .total
    }
  }
}
