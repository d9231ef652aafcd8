// SPDX-License-Identifier: Apache-2.0
package import APNS
package import Compatibility
package import Kafka
import ServiceKit
package import Settings

/// The settings of `martlet-ingest` after validation.
package struct IngestSettings: DeclaredSettings, Sendable {
  package var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-ingest")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) package var topicPrefix: String
  @Declared(CommonSettings.instanceID) package var instanceID: String?

  @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
  package var pushTypes = PushTypes.builtIn

  @Declared(
    .list(
      "pusher-topic", placeholder: "TOPIC=APP",
      "A topic with requests in the format of topfreegames/pusher, and the bundle id of its game, as"
        + " push-game_apns-single=com.game. Repeat it for more. All ingest processes need the same ones."
    ))
  private var pusherTexts: [String]
  package var pusherTopics: [PusherTopic] = []

  @Declared(
    .choice(
      "pusher-environment", of: ["production", "sandbox"], default: "production",
      "Where requests of --pusher-topic go: sandbox unless pusher runs with --production."))
  private var pusherEnvironmentText: String
  package var pusherEnvironment: Environment { Environment(pusherEnvironmentText) ?? .production }

  @Declared(
    .integer(
      "max-in-flight", default: 20_000, in: 1...1_000_000,
      "Most requests that wait for Kafka's acknowledgements; at this number intake stops.")
  ) package var maxInFlight: Int

  @Declared(
    .bytes(
      "max-in-flight-bytes", default: "32MiB", in: 64 << 10...1 << 30,
      "Most bytes that wait for Kafka's acknowledgements; at this number intake stops.")
  ) package var maxInFlightBytes: Int

  @Declared(
    .integer(
      "max-invalid-tokens", default: 4_000_000, in: 0...100_000_000,
      "Most invalid device tokens kept in memory for suppression, at 21 to 32 bytes each; further ones are"
        + " sent to, and APNs reports them again.")
  ) package var maxInvalidTokens: Int

  @Declared(CommonSettings.commitInterval) package var commitIntervalMilliseconds: Int64

  @Declared(
    .duration(
      "drain-timeout", default: "10s", in: 0...600_000,
      "How long a stop waits for Kafka's acknowledgements; a rebalance waits at most 3s.")
  ) package var drainTimeoutMilliseconds: Int64

  /// Beside Martlet's own, each has a number of a byte.
  private static let mostPusherTopics = 200

  package static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  package init() {}

  package init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-ingest")
    pushTypes = try PushTypes(values)
    do throws(CompatibilityError) {
      pusherTopics = try PusherTopic.all(pusherTexts)
      guard pusherTopics.count <= Self.mostPusherTopics else {
        throw CompatibilityError("", "has more than \(Self.mostPusherTopics) topics")
      }
    } catch {
      throw values.error("pusher-topic", "\(error)")
    }
  }
}
