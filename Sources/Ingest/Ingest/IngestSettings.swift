// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka
import ServiceKit
public import Settings

/// The settings of `martlet-ingest` after validation.
public struct IngestSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-ingest")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?

  @Declared(CommonSettings.pushTypes) private var pushTypeTexts: [String]
  public var pushTypes = PushTypes.builtIn

  @Declared(CommonSettings.lanes) private var laneTexts: [String]
  public var lanes = Lanes.standard

  @Declared(CommonSettings.payloadRules) private var payloadRules: String
  /// Payloads with mistakes that devices ignore are refused.
  var refusesWarnings: Bool { payloadRules == CommonSettings.refusePayloads }

  @Declared(
    .integer(
      "max-in-flight", default: 20_000, in: 1...1_000_000,
      "Most requests that wait for Kafka's acknowledgements; at this number intake stops.")
  ) public var maxInFlight: Int

  @Declared(
    .bytes(
      "max-in-flight-bytes", default: "32MiB", in: 64 << 10...1 << 30,
      "Most bytes that wait for Kafka's acknowledgements; at this number intake stops.")
  ) public var maxInFlightBytes: Int

  @Declared(
    .integer(
      "max-invalid-tokens", default: 4_000_000, in: 0...100_000_000,
      "Most invalid and removed device tokens kept in memory for suppression, at 21 to 32 bytes each, removed"
        + " ones first; pushes to further ones are sent, and APNs reports what is invalid again.")
  ) public var maxInvalidTokens: Int

  @Declared(
    CommonSettings.drainTimeout(
      "How long a stop waits for Kafka's acknowledgements; a rebalance waits at most 3s.")
  ) public var drainTimeoutMilliseconds: Int64

  /// Whether the cluster has the topic of campaigns' requests.
  var readsCampaigns = true
  /// Whether it has the topic of the schedule.
  var hasSchedule = true

  var names: TopicNames { TopicNames(prefix: topicPrefix, lanes: lanes) }

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-ingest")
    pushTypes = try PushTypes(values)
    lanes = try Lanes(values)
  }

  /// The topics that requests come from: the producers' first, then the campaigns'.
  func requestTopics(_ names: TopicNames) -> [String] {
    [names.requests] + (readsCampaigns ? [names.campaignRequests] : [])
  }
}
