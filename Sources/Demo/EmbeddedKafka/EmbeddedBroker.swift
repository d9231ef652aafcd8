// SPDX-License-Identifier: Apache-2.0
import Bytes
import CBrokerPort
import CRdKafka
import EventLoop
import Glibc
public import Kafka
import Synchronization

/// A Kafka broker inside this process: librdkafka's mock cluster, real wire protocol on loopback,
/// memory only. Safe to use from any thread.
///
/// It holds 5 MiB of batches a partition. A producer to a partition whose reader is that far behind waits
/// (`BrokerIntake`); of a topic without a reader the oldest records go. It refuses commits during a rebalance, and
/// knows no compaction. For trying, testing and benchmarking.
public final class EmbeddedBroker: @unchecked Sendable {
  /// The number of brokers that the cluster pretends to have; they are numbered from 1.
  public let brokers: Int
  /// `host:port[,host:port…]` for clients in any process of this machine.
  public let bootstrap: String
  private let client: OpaquePointer
  private let intake: BrokerIntake
  let cluster: OpaquePointer

  /// The backlog of the topics that have a reader, and the records that were dropped.
  public var backlog: Backlog { intake.backlog.withLock { $0 } }

  /// Starts the broker and creates its topics.
  ///
  /// - Parameters:
  ///   - brokers: how many brokers the cluster pretends to have.
  ///   - port: of the first of them, on 127.0.0.1; 0 takes a free one.
  public init(
    _ topics: [BrokerTopic] = [], brokers: Int = 1, port: UInt16 = 0
  ) throws(KafkaError) {
    let native = NativeConfiguration()
    try native.set("client.id", "embedded-broker")
    intake = BrokerIntake()
    try intake.install(in: native)
    client = try native.makeClient(RD_KAFKA_PRODUCER)
    do throws(KafkaError) {
      cluster = try Self.newCluster(brokers, port: port, client)
    } catch {
      rd_kafka_destroy(client)
      throw error
    }
    self.brokers = brokers
    bootstrap = String(cString: rd_kafka_mock_cluster_bootstraps(cluster))
    for topic in topics { try createTopic(topic) }
  }

  deinit {
    rd_kafka_mock_cluster_destroy(cluster)
    rd_kafka_destroy(client)
  }

  private static func newCluster(
    _ brokers: Int, port: UInt16, _ client: OpaquePointer
  ) throws(KafkaError) -> OpaquePointer {
    martlet_bind_next_to(port)
    defer { martlet_bind_next_to(0) }
    guard let made = rd_kafka_mock_cluster_new(client, Int32(brokers)) else {
      throw .invalid("cannot start the embedded broker: no port of 127.0.0.1 is free")
    }
    BrokerIntake.limitVersions(of: made)
    let failure = martlet_bind_failure()
    guard failure == 0 else {
      rd_kafka_mock_cluster_destroy(made)
      let error = SystemError(code: failure, attempt: "cannot bind 127.0.0.1:\(port)")
      throw .invalid(
        "cannot start the embedded broker: \(error); does something else listen there?")
    }
    return made
  }

  /// Creates a topic: the only way in which one comes to be.
  public func createTopic(_ topic: BrokerTopic) throws(KafkaError) {
    let code = rd_kafka_mock_topic_create(cluster, topic.name, Int32(topic.partitions), 1)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "cannot create topic \(topic.name) on the embedded broker")
    }
    intake.backlog.withLock { $0.add(topic) }
    BrokerTurn.awaitEnd(port: firstPort)
  }

  /// The port of the cluster's first broker.
  private var firstPort: UInt16 {
    let first = bootstrap.prefix { $0 != "," }
    guard let port = first.split(separator: ":").last.flatMap({ UInt16($0) }) else {
      preconditionFailure("librdkafka's mock cluster calls itself \(first)")
    }
    return port
  }
}
