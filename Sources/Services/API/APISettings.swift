// SPDX-License-Identifier: Apache-2.0
package import Kafka
import ServiceKit
package import Settings

/// The settings of `martlet-api` after validation.
package struct APISettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var listen: Endpoint
  /// The file of API keys.
  package var keys: String
  /// Certificate chain and key for TLS, PEM files.
  package var certificate: String?
  package var certificateKey: String?
  /// The most bytes of a body that is not NDJSON.
  package var maxBody: Int
  package var maxConnections: Int
  /// Bytes handed to Kafka and not yet acknowledged, at most.
  package var maxInFlightBytes: Int
  package var ackTimeoutMilliseconds: Int64

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix,
      Setting(
        "listen", .endpoint, default: "127.0.0.1:8080",
        "Address and port of the HTTP API. Beyond the loopback, use TLS here or in a proxy before it."
      ),
      .path(
        "keys", placeholder: "FILE",
        "File of the API keys, a JSON array; martlet keys api makes keys. Read again when it changes, and on"
          + " SIGHUP."),
      .path("tls-certificate", placeholder: "FILE", "Certificate chain for HTTPS (PEM)."),
      .path("tls-key", placeholder: "FILE", "Private key of the certificate (PEM)."),
      .bytes(
        "max-body", default: "8MiB", in: 1_024...1 << 30,
        "Largest body of an object or an array, unpacked; NDJSON has no limit."),
      .integer(
        "max-connections", default: 1_024, in: 32...100_000,
        "Most open connections; a further one ends the oldest without a complete request."),
      .bytes(
        "max-in-flight-bytes", default: "32MiB", in: 1 << 20...1 << 30,
        "Most bytes that wait for Kafka's acknowledgements; at this number bodies are not read any further."
      ),
      .duration(
        "ack-timeout", default: "10s", in: 100...600_000,
        "How long an answer waits for Kafka's acknowledgement; then it is 503."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-api")
    topicPrefix = values.text("topic-prefix")
    listen = values.endpoint("listen")
    guard let keys = values.optionalText("keys") else {
      throw SettingErrors("keys", "is required: the file of API keys; martlet keys api makes one")
    }
    self.keys = keys
    certificate = values.optionalText("tls-certificate")
    certificateKey = values.optionalText("tls-key")
    guard (certificate == nil) == (certificateKey == nil) else {
      throw SettingErrors(
        certificate == nil ? "tls-certificate" : "tls-key",
        "is required: TLS needs certificate and key")
    }
    maxBody = values.bytes("max-body")
    maxConnections = values.integer("max-connections")
    maxInFlightBytes = values.bytes("max-in-flight-bytes")
    ackTimeoutMilliseconds = values.milliseconds("ack-timeout")
  }
}
