// SPDX-License-Identifier: Apache-2.0
package import Kafka
import ServiceKit
package import Settings

/// The settings of `martlet-ingest` after validation.
package struct IngestSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// Requests that wait for Kafka's acknowledgements, at most.
  package var maxInFlight: Int
  /// Bytes handed to Kafka and not yet acknowledged, at most.
  package var maxInFlightBytes: Int
  /// Dead tokens that are remembered, at most.
  package var maxInvalidTokens: Int
  /// Between two commits of offsets.
  package var commitIntervalMilliseconds: Int64
  /// What a stop waits for acknowledgements.
  package var drainTimeoutMilliseconds: Int64

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .integer(
        "max-in-flight", default: 20_000, in: 1...1_000_000,
        "Most requests that wait for Kafka's acknowledgements; at this number intake stops."),
      .bytes(
        "max-in-flight-bytes", default: "32MiB", in: 64 << 10...1 << 30,
        "Most bytes that wait for Kafka's acknowledgements; at this number intake stops."),
      .integer(
        "max-invalid-tokens", default: 4_000_000, in: 0...100_000_000,
        "Most invalid device tokens kept in memory for suppression, at 32 to 64 bytes each; further ones are"
          + " sent to, and APNs reports them again."),
      .duration(
        "commit-interval", default: "200ms", in: 10...60_000,
        "Interval between two commits of Kafka offsets; a crash repeats at most this much."),
      .duration(
        "drain-timeout", default: "10s", in: 0...600_000,
        "How long a stop waits for Kafka's acknowledgements; a rebalance waits at most 3s."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-ingest")
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    maxInFlight = values.integer("max-in-flight")
    maxInFlightBytes = values.bytes("max-in-flight-bytes")
    maxInvalidTokens = values.integer("max-invalid-tokens")
    commitIntervalMilliseconds = values.milliseconds("commit-interval")
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
  }
}
