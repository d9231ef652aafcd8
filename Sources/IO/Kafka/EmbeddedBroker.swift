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

  /// `host:port[,host:port…]` for clients in any process of this machine.
  package let bootstrap: String
  private let client: OpaquePointer
  private let cluster: OpaquePointer

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

  /// The requests that faults can be injected into.
  package enum Request: Int16, Sendable {
    case produce = 0
    case fetch = 1
    case metadata = 3
    case offsetCommit = 8
    case offsetFetch = 9
    case findCoordinator = 10
    case joinGroup = 11
    case heartbeat = 12
    case syncGroup = 14
    case initProducerID = 22
  }

  /// An answer to inject.
  package enum Fault: Int32, Sendable {
    /// The connection is closed before the request is looked at.
    case disconnect = -195
    case outOfOrderSequence = 45
    case unknownProducer = 59
    case notLeader = 6
    case requestTimedOut = 7
    case messageTooLarge = 10
    case notEnoughReplicas = 19
    case topicNotAuthorized = 29
    case rebalanceInProgress = 27
    case coordinatorNotAvailable = 15
    case invalidRecord = 87
  }

  /// The next requests of that kind are answered with these faults, one each.
  package func inject(_ faults: [Fault], into request: Request) {
    let codes = faults.map { rd_kafka_resp_err_t($0.rawValue) }
    rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, codes.count, codes)
  }

  /// Takes back the faults that have not been used.
  package func clearFaults(of request: Request) {
    rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
  }

  /// Closes a broker's connections and refuses new ones; it keeps its data.
  package func setDown(broker: Int32 = 1) { rd_kafka_mock_broker_set_down(cluster, broker) }

  package func setUp(broker: Int32 = 1) { rd_kafka_mock_broker_set_up(cluster, broker) }

  /// Delays every answer of a broker.
  package func setRoundTrip(milliseconds: Int32, broker: Int32 = 1) {
    rd_kafka_mock_broker_set_rtt(cluster, broker, milliseconds)
  }
}
