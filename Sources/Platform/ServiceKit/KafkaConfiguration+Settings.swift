// SPDX-License-Identifier: Apache-2.0
import Contract
public import Kafka
public import Settings

extension KafkaConfiguration {
  /// The clients' configuration of a service whose table has `CommonSettings.kafka` and takes
  /// Kafka properties.
  ///
  /// - Throws: a property that librdkafka refuses, so that `--check-config` finds it; the reason why this librdkafka
  ///   is refused.
  public init(_ values: SettingValues, clientID: String) throws(SettingErrors) {
    if let refusal = LibraryVersion.librdkafka.refusalAsLibrdkafka {
      throw SettingErrors(nil, refusal)
    }
    let bootstrap = values[CommonSettings.kafka]
    self.init(bootstrap: bootstrap.map(\.description).joined(separator: ","), clientID: clientID)
    common = values.kafka.common.map { ($0.name, $0.value) }
    consumer = values.kafka.consumer.map { ($0.name, $0.value) }
    producer = values.kafka.producer.map { ($0.name, $0.value) }
    try Self.rethrow(values) { () throws(KafkaError) in try check() }
  }

  /// Checks the properties against each other, for a service that takes some: `acks` against idempotence, the
  /// file of `ssl.ca.location`, the credentials of a SASL mechanism.
  ///
  /// - Throws: what would end the service when it makes its clients.
  static func checkTogether(_ values: SettingValues) throws(SettingErrors) {
    guard values.table.takesKafkaProperties else { return }
    let configuration = try KafkaConfiguration(values, clientID: "check")
    try rethrow(values) { () throws(KafkaError) in try configuration.checkTogether() }
  }

  /// An error names the property with its value, unless that is a secret: a librdkafka that was built without OAuth
  /// refuses a client's secret.
  private static func rethrow(
    _ values: SettingValues, _ check: () throws(KafkaError) -> Void
  ) throws(SettingErrors) {
    do throws(KafkaError) {
      try check()
    } catch {
      var text = error.message
      for (_, property) in values.kafka.named where KafkaProperties.isSecret(property.name) {
        text = text.replacing("\(property.name)=\(property.value)", with: property.name)
      }
      throw SettingErrors(nil, text)
    }
  }
}
