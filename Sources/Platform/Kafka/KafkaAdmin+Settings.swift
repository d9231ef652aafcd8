// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

public struct TopicSize: Sendable, Hashable {
  public let partitions: Int
  /// The number of replicas of its first partition.
  public let copies: Int
}

/// The topics of a cluster: those with a size, and those for which it returned only an error.
public struct TopicListing: Sendable {
  public var sizes: [String: TopicSize] = [:]
  public var errors: [String: KafkaError] = [:]

  /// The topics that this user is not authorized to see, with the authorizer's error.
  public var hidden: [String: KafkaError] { errors.filter { $0.value.isOfAuthorization } }

  /// True if it is known whether this topic exists: it has a size, or the cluster says that it does not exist. False if
  /// no broker answered for it, if its leader is not elected yet, or if nobody asked for it.
  public func knows(_ topic: String) -> Bool {
    if sizes[topic] != nil { return true }
    guard let error = errors[topic], !error.isOfAuthorization else { return false }
    return error.isOfMissingPartition || !error.isRetriable
  }

  /// Those of these topics of which it is not known whether they exist; the hidden ones, too.
  public func unknown(among topics: some Sequence<String>) -> Set<String> {
    Set(topics.filter { !knows($0) })
  }
}

extension KafkaAdmin {
  /// Every topic that the cluster lists for this user. Creates no topic.
  public func topicListing(timeoutMilliseconds: Int32) throws(KafkaError) -> TopicListing {
    try listing(of: nil, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// What the cluster says of these topics; nil for all.
  private func listing(
    of names: [String]?, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicListing {
    let metadata = try metadata(
      of: names, timeoutMilliseconds: timeoutMilliseconds,
      "cannot list the topics at \(configuration.bootstrap)")
    defer { rd_kafka_metadata_destroy(metadata) }
    let wanted = names.map { Set($0) }
    var listing = TopicListing()
    for index in 0..<Int(metadata.pointee.topic_cnt) {
      let topic = metadata.pointee.topics[index]
      let name = String(cString: topic.topic)
      if wanted?.contains(name) == false { continue }
      guard topic.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
        listing.errors[name] = KafkaError(topic.err, "topic \(name)")
        continue
      }
      let copies = topic.partition_cnt > 0 ? Int(topic.partitions[0].replica_cnt) : 0
      listing.sizes[name] = TopicSize(partitions: Int(topic.partition_cnt), copies: copies)
    }
    return listing
  }

  /// These topics alone: a cluster may have very many others. Each has a size or an error, also one that this user may
  /// not see, which no list of all topics has. Creates no topic.
  public func topicListing(
    naming names: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicListing {
    var listing = try listing(of: names, timeoutMilliseconds: timeoutMilliseconds)
    for name in names where listing.sizes[name] == nil && listing.errors[name] == nil {
      listing.errors[name] = topicError(name, timeoutMilliseconds: timeoutMilliseconds)
    }
    return listing
  }

  /// The size of a topic. Throws the cluster's error if it has none to show. Creates no topic.
  public func topicSize(
    _ topic: String, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> TopicSize {
    let listing = try topicListing(naming: [topic], timeoutMilliseconds: timeoutMilliseconds)
    if let size = listing.sizes[topic] { return size }
    throw listing.errors[topic]
      ?? KafkaError(RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, "topic \(topic)")
  }

  /// A broker's answer about these topics, or about all; the caller destroys it. Creates no topic.
  ///
  /// - Parameter names: nil for all.
  func metadata(
    of names: [String]?, timeoutMilliseconds: Int32, _ attempt: String
  ) throws(KafkaError) -> UnsafePointer<rd_kafka_metadata> {
    // librdkafka asks for the topics that have a handle.
    for name in names ?? [] where places[name] == nil {
      places[name] = rd_kafka_topic_new(handle, name, nil)
    }
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(
      handle, names == nil ? 1 : 0, nil, &metadata, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else { throw KafkaError(code, attempt) }
    return metadata
  }

  /// The cluster's error for a topic queried by name; nil if it exists. Does not create it.
  public func topicError(_ topic: String, timeoutMilliseconds: Int32) -> KafkaError? {
    guard let place = rd_kafka_topic_new(handle, topic, nil) else {
      return KafkaError(rd_kafka_last_error(), "topic \(topic)")
    }
    defer { rd_kafka_topic_destroy(place) }
    do throws(KafkaError) {
      _ = try partitionCount(handle, place, timeoutMilliseconds: timeoutMilliseconds)
      return nil
    } catch {
      return error
    }
  }

  /// The current number of members of a group; nil if the cluster does not report it.
  public func memberCount(of group: String, timeoutMilliseconds: Int32) -> Int? {
    var list: UnsafePointer<rd_kafka_group_list>?
    // There is a list also if another broker than the group's did not answer in time (`_PARTIAL`).
    _ = rd_kafka_list_groups(handle, group, &list, timeoutMilliseconds)
    guard let list else { return nil }
    defer { rd_kafka_group_list_destroy(list) }
    // Several brokers may list it, while its coordinator changes: one that is no longer that refuses, or knows of none.
    return (0..<Int(list.pointee.group_cnt)).compactMap { place -> Int? in
      let group = list.pointee.groups[place]
      return group.err == RD_KAFKA_RESP_ERR_NO_ERROR ? Int(group.member_cnt) : nil
    }.max()
  }

  /// The settings of topics, including defaults, by topic and by Kafka's names; topics that this user may not describe
  /// are omitted.
  ///
  /// Throws when the cluster does not answer within the time, or does not support the request.
  public func topicSettings(
    _ topics: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: [String: String]] {
    var resources: [OpaquePointer?] = topics.map {
      rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0)
    }
    defer { for resource in resources { rd_kafka_ConfigResource_destroy(resource) } }
    let options = rd_kafka_AdminOptions_new(handle, RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)
    defer { rd_kafka_AdminOptions_destroy(options) }
    let event = try perform("describe topics", timeoutMilliseconds) { client, queue in
      rd_kafka_DescribeConfigs(client, &resources, resources.count, options, queue)
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
      // Secret values are not returned.
      guard let entry = entries?[index], let value = rd_kafka_ConfigEntry_value(entry) else {
        continue
      }
      settings[String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
    }
    return settings
  }
}
