// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import Telemetry

/// What the feedback service counts.
enum FeedbackCounter: Int, CounterKey {
  /// Answers of APNs about tokens.
  case feedback
  /// Registrations and removals.
  case devices
  /// Registrations that name a time zone that does not exist here.
  case unknownZones
  /// Devices that were forgotten, by tombstones.
  case forgotten
  /// Answers that showed a token invalid.
  case invalidated
  /// Answers that were older than the newest registration, or not about the token.
  case kept
  /// Answers that may be our own mistake.
  case suspected
  /// Tokens declared invalid because they were called bad on two days.
  case confirmed
  /// Tokens that an answer of a wave called invalid.
  case held
  /// Marks of invalid tokens taken back because a wave followed.
  case withdrawn
  /// Marks of tokens published because their wave was released.
  case released
  /// Times in which an abnormal number of an app's tokens was called bad.
  case badTokenWaves
  /// Marks of invalid tokens taken back because of a later registration.
  case revived
  case deadLettered
  /// Records of `invalid-tokens` that Kafka has.
  case published
  /// Transactions that the database refused and that are tried again.
  case databaseRetries
  /// Transactions that the database refuses at present.
  case databaseFailing
  /// How often the database was rebuilt from the topics.
  case restores
  /// Outcomes of notifications that the database has taken, that are no receipt, and whose time was over.
  case receiptsKept
  case receiptsUnusable
  case receiptsRemoved
  /// Outcomes of devices that were forgotten.
  case receiptsForgotten
  /// The size of SQLite's log.
  case databaseLogBytes
  case partitionsAssigned
  /// Age of the oldest record of the batch under way.
  case backlogMilliseconds

  var kind: CounterKind {
    switch self {
    case .partitionsAssigned, .databaseFailing, .backlogMilliseconds, .databaseLogBytes: .gauge
    default: .total
    }
  }
}
