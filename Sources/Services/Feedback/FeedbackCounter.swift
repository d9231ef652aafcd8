// SPDX-License-Identifier: Apache-2.0
import ServiceKit

/// What the feedback service counts.
enum FeedbackCounter: Int, CounterKey {
  /// Answers of APNs about tokens.
  case feedback
  /// Registrations and removals.
  case devices
  /// Answers that showed a token dead.
  case invalidated
  /// Answers that were older than the newest registration, or not about the token.
  case kept
  /// Answers that may be our own mistake.
  case suspected
  /// Dead tokens that were registered again.
  case revived
  case deadLettered
  /// Records of `invalid-tokens` that Kafka has.
  case published
  /// Transactions that the database refused and that are tried again.
  case databaseRetries
}
