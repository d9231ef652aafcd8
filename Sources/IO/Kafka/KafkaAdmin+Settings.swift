// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

/// How large a topic is.
package struct TopicSize: Sendable, Hashable {
  package let partitions: Int
  /// Copies of its first partition.
  package let copies: Int

  package init(partitions: Int, copies: Int) {
    self.partitions = partitions
    self.copies = copies
  }
}

extension KafkaAdmin {
  /// Every topic of the cluster with its size. Creates none.
  package func topicSizes(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: TopicSize] {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(handle, 1, nil, &metadata, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw KafkaError(code, "cannot list the topics at \(configuration.bootstrap)")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    var sizes: [String: TopicSize] = [:]
    for index in 0..<Int(metadata.pointee.topic_cnt) {
      let topic = metadata.pointee.topics[index]
      guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
      let copies = topic.partition_cnt > 0 ? Int(topic.partitions[0].replica_cnt) : 0
      sizes[String(cString: topic.topic)] = TopicSize(
        partitions: Int(topic.partition_cnt), copies: copies)
    }
    return sizes
  }

  /// The settings of topics, defaults among them, by topic and by Kafka's names; a topic that this user may not
  /// describe is left out.
  ///
  /// Throws when the cluster does not answer within the time, and for the embedded broker, which has no settings.
  package func topicSettings(
    _ topics: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: [String: String]] {
    var resources: [OpaquePointer?] = topics.map {
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0)
    }
    defer { for resource in resources { rd_kafka_ConfigResource_destroy(resource) } }
    let event = try perform("describe topics", timeoutMilliseconds) { client, queue in
      rd_kafka_DescribeConfigs(client, &resources, resources.count, nil, queue)
    }
    defer { rd_kafka_event_destroy(event) }
    var count = 0
    let results = rd_kafka_DescribeConfigs_result_resources(
      rd_kafka_event_DescribeConfigs_result(event), &count)
    var settings: [String: [String: String]] = [:]
    for index in 0..<count {
      guard let resource = results?[index],
        rd_kafka_ConfigResource_error(resource) == RD_KAFKA_RESP_ERR_NO_ERROR
      else { continue }
      settings[String(cString: rd_kafka_ConfigResource_name(resource))] = Self.entries(resource)
    }
    return settings
  }

  private static func entries(_ resource: OpaquePointer) -> [String: String] {
    var count = 0
    let entries = rd_kafka_ConfigResource_configs(resource, &count)
    var settings: [String: String] = [:]
    for index in 0..<count {
      // A secret has no value here.
      guard let entry = entries?[index], let value = rd_kafka_ConfigEntry_value(entry) else {
        continue
      }
      settings[String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
    }
    return settings
  }
}
