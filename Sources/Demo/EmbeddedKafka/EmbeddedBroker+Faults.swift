// SPDX-License-Identifier: Apache-2.0
import CRdKafka
public import Kafka

/// Faults on demand: what the mock cluster can be made to do to its clients.
extension EmbeddedBroker {
  /// The requests that faults can be injected into.
  public enum Request: Int16, Sendable, CaseIterable {
    case produce = 0
    case fetch = 1
    case listOffsets = 2
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
  public enum Fault: Int32, Sendable, CaseIterable {
    /// The connection is closed before the request is looked at.
    case disconnect = -195
    case outOfOrderSequence = 45
    case unknownProducer = 59
    case notLeader = 6
    case offsetOutOfRange = 1
    case unknownTopicOrPartition = 3
    case requestTimedOut = 7
    case messageTooLarge = 10
    case notEnoughReplicas = 19
    case topicNotAuthorized = 29
    case groupNotAuthorized = 30
    case illegalGeneration = 22
    case invalidSessionTimeout = 26
    case rebalanceInProgress = 27
    case coordinatorNotAvailable = 15
    case notCoordinator = 16
    case invalidRecord = 87
    case fencedInstance = 82
    case policyViolation = 44
  }

  /// The next requests of that kind are answered with these faults, one each.
  public func inject(_ faults: [Fault], into request: Request) {
    let codes = faults.map { rd_kafka_resp_err_t($0.rawValue) }
    rd_kafka_mock_push_request_errors_array(cluster, request.rawValue, codes.count, codes)
  }

  /// Takes back the faults that have not been used.
  public func clearFaults(of request: Request) {
    rd_kafka_mock_clear_request_errors(cluster, request.rawValue)
  }

  /// Sets the cluster's error for a topic when it is asked for its partitions, from now on; nil returns the partitions
  /// again.
  public func setTopic(_ name: String, fault: Fault?) {
    rd_kafka_mock_topic_set_error(cluster, name, rd_kafka_resp_err_t(fault?.rawValue ?? 0))
  }

  /// Closes a broker's connections and refuses new ones; it keeps its data.
  public func setDown(broker: Int32 = 1) { rd_kafka_mock_broker_set_down(cluster, broker) }

  public func setUp(broker: Int32 = 1) { rd_kafka_mock_broker_set_up(cluster, broker) }

  /// Delays every answer of a broker.
  public func setRoundTrip(milliseconds: Int32, broker: Int32 = 1) {
    rd_kafka_mock_broker_set_rtt(cluster, broker, milliseconds)
  }

  /// Makes another broker the leader of a partition. Throws when there is no such topic or broker.
  public func setLeader(
    topic: String, partition: Int32, broker: Int32
  ) throws(KafkaError) {
    let code = rd_kafka_mock_partition_set_leader(cluster, topic, partition, broker)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "broker \(broker) cannot lead \(topic) [\(partition)]")
    }
  }

  /// Makes another broker the coordinator of a consumer group.
  public func setCoordinator(group: String, broker: Int32) throws(KafkaError) {
    let code = rd_kafka_mock_coordinator_set(cluster, "group", group, broker)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "broker \(broker) cannot coordinate \(group)")
    }
  }
}
