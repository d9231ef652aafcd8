// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit
import Settings
import TestSupport
import Testing

@Suite struct KafkaSettingsTests {
  private let table = SettingTable([CommonSettings.kafka.setting], kafkaProperties: true)

  private func configuration(_ arguments: [String]) throws(SettingErrors) -> KafkaConfiguration {
    try KafkaConfiguration(table.values(arguments), clientID: "test")
  }

  @Test func `bootstrap addresses and properties reach the clients' configuration`() throws {
    let kafka = try configuration(["--kafka", "a:1,b:2", "--kafka.consumer.check.crcs=false"])
    #expect(kafka.bootstrap == "a:1,b:2")
    #expect(kafka.clientID == "test")
    #expect(kafka.consumer.map(\.name) == ["check.crcs"])
    #expect(kafka.producer.isEmpty)
  }

  @Test(arguments: [
    "--kafka.no.such.property=1", "--kafka.linger.ms=soon", "--kafka.enable.auto.commit=true",
  ])
  func `a property that cannot be is refused before anything connects`(flag: String) {
    do throws(SettingErrors) {
      _ = try configuration([flag])
      Issue.record("\(flag) was accepted")
    } catch {
      let name = flag.dropFirst("--kafka.".count).prefix { $0 != "=" }
      #expect(error.description.contains(name))
    }
  }

  /// librdkafka of Debian 12 was built without OAuth, and refuses it.
  @Test func `a secret that cannot be used is not shown`() {
    do throws(SettingErrors) {
      _ = try configuration(["--kafka.sasl.oauthbearer.client.secret=hunter2"])
    } catch {
      #expect(error.description.contains("sasl.oauthbearer.client.secret"))
      #expect(!error.description.contains("hunter2"))
    }
  }
}
