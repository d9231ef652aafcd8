// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import Kafka

/// The values that the planner reckons with reach the clients, whatever wins over what.
@Suite struct PlannedSettingsTests {
  private func value(_ name: String, _ role: KafkaConfiguration.Role) -> Double? {
    let configuration = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    return configuration.properties(for: role).last { $0.name == name }.flatMap { Double($0.value) }
  }

  @Test func `a client waits and lingers as planned`() {
    #expect(value("fetch.wait.max.ms", .group) == KafkaDefaults.fetchWait)
    #expect(value("fetch.wait.max.ms", .reader) == KafkaDefaults.tableFetchWait)
    #expect(value("linger.ms", .producer) == KafkaDefaults.linger)
  }
}
