// SPDX-License-Identifier: Apache-2.0
import Glibc
package import Kafka
import ServiceKit
package import Settings

/// The sender's settings after validation.
package struct SenderSettings: Sendable {
  package var kafka: KafkaConfiguration
  package var topicPrefix: String
  package var instanceID: String?
  /// The gateway that production notifications go to, and the one for the sandbox.
  package var productionGateway: Endpoint
  package var sandboxGateway: Endpoint
  /// A PEM file of roots to trust instead of the system's, or nil.
  package var gatewayRoots: String?
  /// The name in the gateway's certificate if it is not the host that is connected to.
  package var gatewayName: String?
  /// Event loops, each a thread with connections of its own.
  package var loops: Int
  /// Connections of one loop to one gateway for one credential.
  package var connections: ClosedRange<Int>
  /// Notifications that one loop holds at most, from being read to their outcome.
  package var maxInFlight: Int
  /// From sending a request to giving up on its answer.
  package var requestTimeoutMilliseconds: Int64
  /// What a stop or a rebalance waits for what is in flight.
  package var drainTimeoutMilliseconds: Int64
  /// How long a notification waits for a provider token of its app.
  package var credentialWaitMilliseconds: Int64
  /// Older notifications end as `expired`.
  package var maxAgeMilliseconds: (transactional: Int64, bulk: Int64)
  /// Sends of one notification, the first included.
  package var maxAttempts: Int
  /// `apns-id`s that one partition remembers.
  package var dedupWindow: Int
  /// Between two commits of offsets.
  package var commitIntervalMilliseconds: Int64

  package static let table = SettingTable(
    [
      CommonSettings.kafka, CommonSettings.topicPrefix, CommonSettings.instanceID,
      .endpoint(
        "gateway", default: "api.push.apple.com:443",
        "The APNs gateway for production notifications. Apple also answers on port 2197."),
      .endpoint(
        "sandbox-gateway", default: "api.sandbox.push.apple.com:443",
        "The APNs gateway for sandbox notifications."),
      .path(
        "gateway-roots", placeholder: "FILE",
        "PEM file of the certificate authorities to trust instead of the system's, for a simulator."
      ),
      .text(
        "gateway-name", placeholder: "NAME",
        "The host name that the gateway's certificate must carry, if it is not the one connected to."
      ),
      .integer(
        "loops", default: 0, in: 0...64,
        "Event loops, each one thread with its own connections; 0 makes one per processor core."),
      .integer(
        "min-connections", default: 1, in: 1...64,
        "Connections that one loop keeps to a gateway for one credential once it is used."),
      .integer(
        "max-connections", default: 4, in: 1...64,
        "Connections that one loop opens at most to a gateway for one credential."),
      .integer(
        "max-in-flight", default: 4_000, in: 1...100_000,
        "Notifications that one loop holds at most, from reading them to their outcome."),
      .duration(
        "request-timeout", default: "30s", in: 100...600_000,
        "How long a request waits for its answer before it is sent again elsewhere."),
      .duration(
        "drain-timeout", default: "10s", in: 0...600_000,
        "How long a stop waits for the answers to what is in flight; a rebalance waits 3s at most."),
      .duration(
        "credential-wait", default: "1m", in: 0...3_600_000,
        "How long a notification waits for a provider token of its app before it is a dead letter."),
      .duration(
        "max-age", default: "1h", in: 1_000...2_592_000_000,
        "Transactional notifications older than this end as expired instead of being sent."),
      .duration(
        "max-age-bulk", default: "24h", in: 1_000...2_592_000_000,
        "The same for the bulk lane."),
      .integer(
        "max-attempts", default: 8, in: 1...1_000,
        "How often a notification is sent at most before it is a dead letter."),
      .integer(
        "dedup-window", default: 20_000, in: 0...10_000_000,
        "apns-ids that each partition remembers, at about 48 bytes each; a repeated one is not sent again."
      ),
      .duration(
        "commit-interval", default: "200ms", in: 10...60_000,
        "Time between two commits of Kafka offsets: what a crash sends again at most, in time."),
    ], kafkaProperties: true)

  package init(_ values: SettingValues) throws(SettingErrors) {
    kafka = try KafkaConfiguration(values, clientID: "martlet-sender")
    topicPrefix = values.text("topic-prefix")
    instanceID = values.optionalText("instance-id")
    productionGateway = values.endpoint("gateway")
    sandboxGateway = values.endpoint("sandbox-gateway")
    gatewayRoots = values.optionalText("gateway-roots")
    gatewayName = values.optionalText("gateway-name")
    let asked = values.integer("loops")
    loops = asked > 0 ? asked : max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))))
    let least = values.integer("min-connections")
    let most = values.integer("max-connections")
    guard least <= most else {
      throw values.error("min-connections", "\(least) is more than max-connections (\(most))")
    }
    connections = least...most
    maxInFlight = values.integer("max-in-flight")
    requestTimeoutMilliseconds = values.milliseconds("request-timeout")
    drainTimeoutMilliseconds = values.milliseconds("drain-timeout")
    credentialWaitMilliseconds = values.milliseconds("credential-wait")
    maxAgeMilliseconds = (values.milliseconds("max-age"), values.milliseconds("max-age-bulk"))
    maxAttempts = values.integer("max-attempts")
    dedupWindow = values.integer("dedup-window")
    commitIntervalMilliseconds = values.milliseconds("commit-interval")
  }
}
