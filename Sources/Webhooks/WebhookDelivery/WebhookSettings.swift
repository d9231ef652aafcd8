// SPDX-License-Identifier: Apache-2.0
import Crypto
public import Kafka
import ServiceKit
public import Settings
public import Webhooks

/// The settings of `martlet-webhooks` after validation.
public struct WebhookSettings: DeclaredSettings, Sendable {
  public var kafka = KafkaConfiguration(bootstrap: "", clientID: "martlet-webhooks")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) public var topicPrefix: String
  @Declared(CommonSettings.instanceID) public var instanceID: String?

  @Declared(
    .path(
      "subscriptions", placeholder: "FILE",
      "File of the endpoints and what each wants to know, a JSON array with at most 100 entries; only its owner may"
        + " read it. A change takes effect with a restart.")
  ) public var file: String
  public var subscriptions: [Subscription] = []

  @Declared(
    .boolean(
      "allow-http",
      "Also permits endpoints without TLS (http://), for trials: events travel in plain text.")
  ) public var allowsHTTP: Bool

  @Declared(
    .path(
      "endpoint-roots", placeholder: "FILE",
      "Root certificates (PEM) that endpoints are verified with, instead of the system's.")
  ) public var roots: String?

  /// In milliseconds.
  @Declared(
    .duration(
      "retry-for", default: "24h", in: 1_000...604_800_000,
      "How long a request is repeated until its events become a dead letter. Keep it below retention.ms of the"
        + " receipts (7 days by default).")
  ) public var retryWindow: Int64

  /// The most bytes of events waiting in memory, for all endpoints together; further events stay in Kafka.
  public var maxQueuedBytes = 64 << 20

  public static let table = SettingTable(declaredBy: Self.self, kafkaProperties: true)

  public init() {}

  public init(_ values: SettingValues) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: "martlet-webhooks")
    try values.orError("endpoint-roots") {
      if let roots { try TLSContext.checkPEMRoots(roots) }
    }
    subscriptions = try values.orError("subscriptions") {
      try SubscriptionFile.read(file, allowsHTTP: allowsHTTP)
    }
  }
}
