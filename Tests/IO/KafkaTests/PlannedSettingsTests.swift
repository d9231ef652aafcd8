// SPDX-License-Identifier: Apache-2.0
import Pipeline
import Testing

@testable import Kafka

/// The values that the planner reckons with reach the clients, whatever wins over what.
@Suite struct PlannedSettingsTests {
  private func value(_ name: String, _ role: KafkaConfiguration.Role, embedded: Bool) -> Double? {
    var configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    configuration.isEmbeddedBroker = embedded
    return configuration.properties(for: role).last { $0.name == name }.flatMap { Double($0.value) }
  }

  @Test func `a client waits and lingers as planned`() {
    #expect(value("fetch.wait.max.ms", .group, embedded: false) == KafkaDefaults.fetchWait)
    #expect(value("fetch.wait.max.ms", .reader, embedded: false) == KafkaDefaults.tableFetchWait)
    #expect(value("fetch.wait.max.ms", .group, embedded: true) == KafkaDefaults.embeddedFetchWait)
    #expect(value("linger.ms", .producer, embedded: false) == KafkaDefaults.linger)
    #expect(value("linger.ms", .producer, embedded: true) == KafkaDefaults.embeddedLinger)
  }
}
