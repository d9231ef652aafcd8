// SPDX-License-Identifier: Apache-2.0
package import Kafka
import ServiceKit
package import Settings

/// The feedback service's settings after validation.
package struct FeedbackSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// The SQLite database of device tokens.
  package var database: String
  /// Records that go into one transaction at most.
  package var batchSize: Int
  /// By how many milliseconds APNs' clock may be behind that of who registers devices.
  package var clockSkew: Int64
  package var commitIntervalMilliseconds: Int64
  /// How old a database may be, in milliseconds, to be brought up to date instead of being made anew.
  package var databaseMaxAge: Int64
  /// How many devices of an app and environment may be called bad in an hour.
  package var badTokenLimit: Int

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .path(
        "database", use: .output, required: true, placeholder: "FILE",
        "The SQLite database of device tokens, on a local disk: a copy of the topics, built from them if it does"
          + " not exist."),
      .duration(
        "database-max-age", default: "12h", in: 60_000...31_536_000_000,
        "An older database is rebuilt from the topics. Keep it below delete.retention.ms of devices and"
          + " invalid-tokens (24h by default)."),
      .integer(
        "bad-token-limit", default: 100, in: 1...10_000_000,
        "Devices of one app and environment that APNs may report as bad per hour. Above it an error is logged,"
          + " and none of them is recorded as invalid."),
      .integer(
        "batch-size", default: 500, in: 1...10_000,
        "Most records in one database transaction."),
      .duration(
        "clock-skew", default: "0s", in: 0...10_000,
        "How far APNs' clock may be behind that of the registrations: a 410 that is older than a registration by"
          + " at most this still counts."),
      .duration(
        "commit-interval", default: "200ms", in: 10...60_000,
        "Interval between two commits of Kafka offsets; a crash repeats at most this much."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-feedback")
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    database = values.text("database")
    batchSize = values.integer("batch-size")
    clockSkew = values.milliseconds("clock-skew")
    commitIntervalMilliseconds = values.milliseconds("commit-interval")
    databaseMaxAge = values.milliseconds("database-max-age")
    badTokenLimit = values.integer("bad-token-limit")
  }
}
