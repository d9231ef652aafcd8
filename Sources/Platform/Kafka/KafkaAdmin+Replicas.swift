// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// The state of a topic's partitions: how many have no leader, and how many replicas of the others are in sync.
public struct TopicReplicas: Sendable, Hashable {
  public var partitions = 0
  public var leaderless = 0
  /// The number of in-sync replicas of each partition that has a leader.
  public var inSync: [Int] = []
}

extension KafkaAdmin {
  /// The ids of the brokers that lead these partitions; nothing of those that have no leader. Creates no topic.
  public func leaders(
    of partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: Int32] {
    let metadata = try metadata(
      of: Array(Set(partitions.map(\.topic))), timeoutMilliseconds: timeoutMilliseconds,
      "no Kafka broker answers at \(configuration.bootstrap)")
    defer { rd_kafka_metadata_destroy(metadata) }
    let wanted = Set(partitions)
    var leaders: [TopicPartition: Int32] = [:]
    for index in 0..<Int(metadata.pointee.topic_cnt) {
      let topic = metadata.pointee.topics[index]
      let name = String(cString: topic.topic)
      for index in 0..<Int(topic.partition_cnt) {
        let partition = topic.partitions[index]
        let place = TopicPartition(topic: name, partition: partition.id)
        if partition.leader >= 0, wanted.contains(place) { leaders[place] = partition.leader }
      }
    }
    return leaders
  }

  /// The current state of a topic's partitions. Does not create the topic.
  ///
  /// Throws the cluster's error for the topic, or a timeout error when no broker answers.
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
