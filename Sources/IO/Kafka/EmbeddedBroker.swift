// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// A Kafka broker inside this process: librdkafka's mock cluster, real wire protocol on loopback,
/// memory only. Safe to use from any thread.
///
/// It holds 5 MiB of batches a partition and then drops the oldest in silence, refuses commits
/// during a rebalance, and knows no compaction. For trying, testing and benchmarking.
package final class EmbeddedBroker: @unchecked Sendable {
  /// What each partition holds before the oldest batch is dropped, in bytes as they were sent.
  package static let bytesPerPartition = 5 << 20

  /// How many brokers the cluster pretends to have; they are numbered from 1.
  package let brokers: Int
  /// `host:port[,host:port…]` for clients in any process of this machine.
  package let bootstrap: String
  private let client: OpaquePointer
  let cluster: OpaquePointer

  /// Starts the broker and creates its topics.
  ///
  /// - Parameter brokers: how many brokers the cluster pretends to have.
  package init(_ topics: [KafkaTopicSpecification] = [], brokers: Int = 1) throws(KafkaError) {
    let native = NativeConfiguration()
    try native.set("client.id", "embedded-broker")
    try native.set("log_level", "3")
    client = try native.makeClient(RD_KAFKA_PRODUCER)
    guard let cluster = rd_kafka_mock_cluster_new(client, Int32(brokers)) else {
      rd_kafka_destroy(client)
      throw .invalid("cannot start the embedded broker; no free port on 127.0.0.1?")
    }
    self.cluster = cluster
    self.brokers = brokers
    bootstrap = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    for topic in topics { try createTopic(topic.name, partitions: topic.partitions) }
  }

  deinit {
    rd_kafka_mock_cluster_destroy(cluster)
    rd_kafka_destroy(client)
  }

  /// Creates a topic. One that somebody asked for before exists already, with four partitions, and
  /// cannot be created again.
  package func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
    let code = rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "cannot create topic \(name) on the embedded broker")
    }
  }
}
