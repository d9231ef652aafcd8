// SPDX-License-Identifier: Apache-2.0
import Bytes
import CBrokerPort
import CRdKafka
import EventLoop
import Glibc
public import Kafka

/// A Kafka broker inside this process: librdkafka's mock cluster, real wire protocol on loopback,
/// memory only. Safe to use from any thread.
///
/// It holds 5 MiB of batches a partition and then drops the oldest in silence, refuses commits
/// during a rebalance, and knows no compaction. For trying, testing and benchmarking.
public final class EmbeddedBroker: @unchecked Sendable {
  /// What each partition holds before the oldest batch is dropped, in bytes as they were sent.
  public static let bytesPerPartition = 5 << 20

  /// How many brokers the cluster pretends to have; they are numbered from 1.
  public let brokers: Int
  /// `host:port[,host:port…]` for clients in any process of this machine.
  public let bootstrap: String
  private let client: OpaquePointer
  let cluster: OpaquePointer

  /// Starts the broker and creates its topics.
  ///
  /// - Parameters:
  ///   - brokers: how many brokers the cluster pretends to have.
  ///   - port: of the first of them, on 127.0.0.1; 0 takes a free one.
  public init(
    _ topics: [KafkaTopicSpecification] = [], brokers: Int = 1, port: UInt16 = 0
  ) throws(KafkaError) {
    let native = NativeConfiguration()
    try native.set("client.id", "embedded-broker")
    try native.set("log_level", "3")
    client = try native.makeClient(RD_KAFKA_PRODUCER)
    do throws(KafkaError) {
      cluster = try Self.start(topics, brokers: brokers, port: port, client)
    } catch {
      rd_kafka_destroy(client)
      throw error
    }
    self.brokers = brokers
    bootstrap = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
  }

  deinit {
    rd_kafka_mock_cluster_destroy(cluster)
    rd_kafka_destroy(client)
  }

  /// So often a cluster is started again before that is given up.
  private static let attempts = 20

  /// A cluster with these topics.
  ///
  /// It answers as soon as it listens. A client of an earlier broker on the port may ask for a topic before it is
  /// created, and so creates it with another number of partitions: then everything starts again, while the client
  /// waits before it connects again.
  private static func start(
    _ topics: [KafkaTopicSpecification], brokers: Int, port: UInt16, _ client: OpaquePointer
  ) throws(KafkaError) -> OpaquePointer {
    var attempt = 1
    while true {
      let made = try newCluster(brokers, port: port, client)
      do throws(KafkaError) {
        let first = firstPort(of: made)
        for topic in topics {
          try create(topic.name, partitions: topic.partitions, in: made, firstPort: first)
        }
        return made
      } catch {
        rd_kafka_mock_cluster_destroy(made)
        let isTaken = error.code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS.rawValue
        guard isTaken, attempt < attempts else { throw error }
        attempt += 1
      }
    }
  }

  private static func newCluster(
    _ brokers: Int, port: UInt16, _ client: OpaquePointer
  ) throws(KafkaError) -> OpaquePointer {
    martlet_bind_next_to(port)
    defer { martlet_bind_next_to(0) }
    guard let made = rd_kafka_mock_cluster_new(client, Int32(brokers)) else {
      throw .invalid("cannot start the embedded broker: no port of 127.0.0.1 is free")
    }
    let failure = martlet_bind_failure()
    guard failure == 0 else {
      rd_kafka_mock_cluster_destroy(made)
      let error = SystemError(code: failure, attempt: "cannot bind 127.0.0.1:\(port)")
      throw .invalid(
        "cannot start the embedded broker: \(error); does something else listen there?")
    }
    return made
  }

  /// Creates a topic. One that somebody asked for before exists already, with four partitions, and
  /// cannot be created again.
  public func createTopic(_ name: String, partitions: Int) throws(KafkaError) {
    try Self.create(
      name, partitions: partitions, in: cluster, firstPort: Self.firstPort(of: cluster))
  }

  private static func create(
    _ name: String, partitions: Int, in cluster: OpaquePointer, firstPort: UInt16
  ) throws(KafkaError) {
    let code = rd_kafka_mock_topic_create(cluster, name, Int32(partitions), 1)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "cannot create topic \(name) on the embedded broker")
    }
    BrokerTurn.awaitEnd(port: firstPort)
  }

  /// The port of the cluster's first broker.
  private static func firstPort(of cluster: OpaquePointer) -> UInt16 {
    let first = String(cString: rd_kafka_mock_cluster_bootstraps(cluster)).prefix { $0 != "," }
    guard let port = first.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      preconditionFailure("librdkafka's mock cluster calls itself \(first)")
    }
    return port
  }
}
