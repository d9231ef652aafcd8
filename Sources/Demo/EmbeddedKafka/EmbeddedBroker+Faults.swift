// SPDX-License-Identifier: Apache-2.0
import BrokerCore
public import Kafka

/// Faults on demand: how the broker can misbehave towards its clients.
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

  /// An error to inject.
  public enum Fault: Int32, Sendable, CaseIterable {
    /// Closes the connection before the request is handled.
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

  /// Answers the next requests of that kind with these faults, one each.
  public func inject(_ faults: [Fault], into request: Request) {
    server.withNode { node, _ in
      node.inject(faults.map { Int16($0.rawValue) }, into: request.rawValue)
    }
  }

  /// Removes unused faults.
  public func clearFaults(of request: Request) {
    server.withNode { node, _ in node.clearFaults(of: request.rawValue) }
  }

  /// Sets the error returned for a topic's metadata from now on; nil returns the metadata again.
  public func setTopic(_ name: String, fault: Fault?) {
    let error = fault.flatMap { ErrorCode(rawValue: Int16($0.rawValue)) }
    server.withNode { node, _ in _ = node.setTopic(name, error) }
  }

  /// Leaves the cluster's id and controller out of the metadata from now on, as some vendors' clusters do.
  public func hideClusterID() { server.withNode { node, _ in node.hidesClusterID = true } }

  /// Closes a broker's connections and refuses new ones; it keeps its data.
  public func setDown(broker: Int32 = 1) { try? server.setUp(false, broker: broker) }

  public func setUp(broker: Int32 = 1) { try? server.setUp(true, broker: broker) }

  /// Delays every response of a broker.
  public func setRoundTrip(milliseconds: Int32, broker: Int32 = 1) {
    server.setRoundTrip(milliseconds: Int64(milliseconds), broker: broker)
  }

  /// Makes another broker the leader of a partition; -1 for none. Throws if there is no such topic or broker.
  public func setLeader(topic: String, partition: Int32, broker: Int32) throws(KafkaError) {
    let isDone = server.withNode { node, storage in
      node.setLeader(BrokerCore.TopicPartition(topic, partition), broker: broker, storage)
    }
    guard isDone else { throw .invalid("broker \(broker) cannot lead \(topic) [\(partition)]") }
  }

  /// Adds partitions to a topic. Throws if there is no such topic, or it has as many.
  public func grow(topic: String, to partitions: Int32) throws(KafkaError) {
    let isDone = server.withNode { node, storage in node.grow(topic, to: partitions, storage) }
    guard isDone else { throw .invalid("topic \(topic) cannot have \(partitions) partitions") }
  }

  /// Makes another broker the coordinator of a consumer group.
  public func setCoordinator(group: String, broker: Int32) throws(KafkaError) {
    let isDone = server.withNode { node, _ in node.setCoordinator(group, broker: broker) }
    guard isDone else { throw .invalid("broker \(broker) cannot coordinate \(group)") }
  }

  /// Appends the marker of a committed transaction of producer 1 to a partition's log: an offset without a record.
  public func appendMarker(to topic: String, partition: Int32 = 0) {
    var writer = MessageWriter()
    // Base offset, length, leader epoch, format, checksum; then transactional and control, offsets, times, one record.
    for (number, size) in [
      (0, 8), (0, 4), (0, 4), (2, 1), (0, 4), (0x30, 2), (0, 4), (0, 8), (0, 8),
    ] {
      writer.int(Int64(number), size)
    }
    for (number, size) in [(1, 8), (0, 2), (-1, 4), (1, 4)] { writer.int(Int64(number), size) }
    // Length, attributes, time and offset, the key (version 0, type 1: commit), the value, no headers.
    writer.bytes += [32, 0, 0, 0, 8, 0, 0, 0, 1, 12, 0, 0, 0, 0, 0, 0, 0]
    BatchHeader.seal(&writer.bytes)
    let batch = writer.bytes
    server.withNode { node, storage in
      _ = node.append(
        batch, to: BrokerCore.TopicPartition(topic, partition), at: Moment(time: 0, ticks: 0),
        storage)
    }
  }

  /// Deletes the records of a topic's first partition before an offset, as retention does.
  public func dropRecords(of topic: String, before offset: Int64) {
    server.withNode { node, storage in try? node.cut(topic, 0, to: offset, storage) }
  }
}
