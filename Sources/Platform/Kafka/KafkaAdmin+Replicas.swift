// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// The partitions of a topic: which have a leader, and how many brokers are in sync.
public struct TopicReplicas: Sendable, Hashable {
  public var partitions = 0
  /// Partitions without a leader.
  public var leaderless = 0
  /// The brokers in sync, of each partition that has a leader.
  public var inSync: [Int] = []
}

extension KafkaAdmin {
  /// The state of a topic's partitions now. Creates none.
  ///
  /// Throws the cluster's error for the topic, or that nobody answers within the time.
  public func replicas(
    of topic: String, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicReplicas {
    guard let place = rd_kafka_topic_new(handle, topic, nil) else {
      throw KafkaError(rd_kafka_last_error(), "topic \(topic)")
    }
    defer { rd_kafka_topic_destroy(place) }
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(handle, 0, place, &metadata, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw KafkaError(code, "no Kafka broker answers at \(configuration.bootstrap)")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    var found = TopicReplicas()
    guard metadata.pointee.topic_cnt == 1 else { return found }
    let described = metadata.pointee.topics[0]
    guard described.err == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(described.err, "") }
    found.partitions = Int(described.partition_cnt)
    for index in 0..<found.partitions {
      let partition = described.partitions[index]
      if partition.leader < 0 {
        found.leaderless += 1
      } else {
        found.inSync.append(Int(partition.isr_cnt))
      }
    }
    return found
  }
}
