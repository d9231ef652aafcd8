// SPDX-License-Identifier: Apache-2.0
public import Kafka

extension KafkaAdmin {
  /// True if the cluster is an embedded broker, of this process or another; false while no broker answers.
  public var isOfEmbeddedBroker: Bool {
    (try? clusterID(timeoutMilliseconds: 10_000)) == EmbeddedBroker.clusterID
  }
}
