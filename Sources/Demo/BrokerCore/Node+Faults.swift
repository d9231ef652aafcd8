// SPDX-License-Identifier: Apache-2.0
import Contract

/// Injected faults, for tests of clients.
extension Node {
  /// Answers the next requests with this API key with these errors, one each: `ErrorCode`s by number; 0 is no error,
  /// and for any other number the connection is closed before the request is handled.
  public mutating func inject(_ errors: [Int16], into key: Int16) {
    faults[key, default: []] += errors
  }

  /// Removes unused faults.
  public mutating func clearFaults(of key: Int16) { faults[key] = nil }

  /// Sets the error returned for a topic's metadata from now on. Returns false if there is no such topic.
  public mutating func setTopic(_ name: String, _ error: ErrorCode?) -> Bool {
    topics[name]?.fault = error
    return topics[name] != nil
  }

  /// Adds partitions to a topic. Returns false if there is no such topic, or it has as many.
  public mutating func grow(
    _ name: String, to partitions: Int32, _ storage: any LogStorage
  ) -> Bool {
    let asked: Value = ["Name": .text(name), "Count": .number(partitions)]
    let answer = createPartitions(["Results": .list([asked])], storage)
    return answer["Results"].list.allSatisfy { $0["Error"] == .number(ErrorCode.none.rawValue) }
  }

  /// Changes a partition's leader, with the next epoch; -1 for none. False if there is no such topic or broker.
  public mutating func setLeader(
    _ partition: TopicPartition, broker: Int32, _ storage: any LogStorage
  ) -> Bool {
    let index = Int(partition.partition)
    guard let topic = topics[partition.topic], topic.has(partition.partition),
      broker == -1 || brokers.contains(where: { $0.id == broker })
    else { return false }
    topics[partition.topic]!.leaders[index] = broker
    topics[partition.topic]!.logs[index].beginEpoch(topic.logs[index].epoch + 1)
    finishFetches(of: topic, storage)
    return true
  }

  /// Appends a batch unchecked, which clients cannot do. Returns false if there is no such partition.
  public mutating func append(
    _ batch: [UInt8], to partition: TopicPartition, at now: Moment, _ storage: any LogStorage
  ) -> Bool {
    guard let header = BatchHeader(batch[...]),
      topics[partition.topic]?.has(partition.partition) == true
    else { return false }
    return
      (try? write(
        batch[...], header, partition.topic, Int(partition.partition), now, storage)) != nil
  }

  /// Makes another broker the coordinator of a group. Returns false if there is no such broker.
  public mutating func setCoordinator(_ group: String, broker: Int32) -> Bool {
    guard brokers.contains(where: { $0.id == broker }) else { return false }
    coordinators[group.exact] = broker
    return true
  }
}
