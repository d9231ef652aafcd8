// SPDX-License-Identifier: Apache-2.0

extension KafkaConfiguration {
  /// Tries every property on librdkafka without opening anything.
  ///
  /// Throws for the first one that it does not know, does not take, or that Martlet decides.
  package func check() throws(KafkaError) {
    for role in [Role.producer, .group] { _ = try makeNative(role) }
  }
}
