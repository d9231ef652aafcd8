// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import Settings

/// The cluster that a command works with, and the names of its topics.
struct ClusterSettings: DeclaredSettings, Sendable {
  var kafka = KafkaConfiguration(bootstrap: "", clientID: "")
  @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
  @Declared(CommonSettings.topicPrefix) private var topicPrefix: String

  var names: TopicNames { TopicNames(prefix: topicPrefix) }

  init() {}

  init(_ values: SettingValues, clientID: String) throws(SettingErrors) {
    self = Self.reading(values)
    kafka = try KafkaConfiguration(values, clientID: clientID)
  }
}
