// SPDX-License-Identifier: Apache-2.0
package import Kafka
import ServiceKit
package import Settings

/// The settings of `martlet-feedback` after validation.
package struct FeedbackSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// The file of the token database.
  package var database: String
  /// Facts written in one transaction, at most.
  package var batchRows: Int
  /// What a fact waits for others before it is written.
  package var batchIntervalMilliseconds: Int64
  /// Between two commits of offsets.
  package var commitIntervalMilliseconds: Int64
  /// What a stop waits for the database and for acknowledgements.
  package var drainTimeoutMilliseconds: Int64
  /// By how much APNs' clock may be behind ours.
  package var clockSkewMilliseconds: Int64

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .path(
        "database", default: "martlet-tokens.sqlite",
        "SQLite file of the tokens, made when it is not there. One process a file."),
      .integer(
        "batch-rows", default: 500, in: 1...10_000,
        "Facts about tokens that one transaction writes at most."),
      .duration(
        "batch-interval", default: "50ms", in: 0...10_000,
        "How long a fact waits for others before it is written."),
      .duration(
        "commit-interval", default: "200ms", in: 10...60_000,
        "Time between two commits of Kafka offsets: what a crash repeats at most, in time."),
      .duration(
        "drain-timeout", default: "10s", in: 0...600_000,
        "How long a stop waits for the database and Kafka's acknowledgements; a rebalance waits 3s"
          + " at most."),
      .duration(
        "clock-skew", default: "0s", in: 0...5_000,
        "By how much APNs' clock may be behind yours when a 410's time is compared with a"
          + " registration."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-feedback")
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    database = values.text("database")
    batchRows = values.integer("batch-rows")
    batchIntervalMilliseconds = values.milliseconds("batch-interval")
    commitIntervalMilliseconds = values.milliseconds("commit-interval")
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
    clockSkewMilliseconds = values.milliseconds("clock-skew")
  }
}
