// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

extension KafkaConfiguration {
  /// Validates every property with librdkafka without opening anything.
  ///
  /// Throws for the first property that librdkafka does not know or rejects, or that Martlet reserves.
  public func check() throws(KafkaError) {
    for role in [Role.producer, .group] { _ = try makeNative(role) }
  }

  /// Creates a client of each kind without a broker, and destroys it: only then does librdkafka check properties
  /// against each other, and the files that they name. Opens no connection.
  ///
  /// Throws for the first property that conflicts with another one or names a file it cannot use.
  public func checkTogether() throws(KafkaError) {
    for (role, type) in [(Role.producer, RD_KAFKA_PRODUCER), (.group, RD_KAFKA_CONSUMER)] {
      var fixed: [Property] = [("bootstrap.servers", "")]
      if role == .group { fixed.append(("group.id", "check")) }
      let client = try makeNative(role, fixed: fixed).makeClient(type)
      rd_kafka_destroy_flags(client, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }
  }

  public static func hasProperty(_ name: String) -> Bool { NativeConfiguration().has(name) }
}
