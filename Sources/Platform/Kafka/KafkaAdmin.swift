// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
import EventLoop

public struct KafkaTopicSpecification: Sendable, Hashable {
  public let name: String
  public let partitions: Int
  /// The replication factor; 0 means the cluster's default.
  public let replication: Int
  /// Topic configuration such as `cleanup.policy`.
  public let configuration: [String: String]

  public init(
    _ name: String, partitions: Int, replication: Int = 0, configuration: [String: String] = [:]
  ) {
    self.name = name
    self.partitions = partitions
    self.replication = replication
    self.configuration = configuration
  }
}

/// The oldest offset of a partition and the next one to be written.
public struct Watermarks: Sendable, Hashable {
  public let low: Int64
  public let high: Int64
}

/// Queries and changes to a cluster. Every call blocks; for cold paths only.
public final class KafkaAdmin {
  let configuration: KafkaConfiguration
  private var client: KafkaClient?
  /// One idle client for each group that was queried.
  private var groups: [String: OpaquePointer] = [:]
  /// The topics that were asked for by name.
  var places: [String: OpaquePointer] = [:]

  public init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    self.configuration = configuration
    let native = try configuration.makeNative(.admin)
    native.enableEvents(RD_KAFKA_EVENT_ERROR)
    client = try KafkaClient(RD_KAFKA_PRODUCER, native, wakeup: nil)
  }

  deinit { close() }

  public func close() {
    let ends = groups.values.map { KafkaClientEnd($0) }
    for end in ends { end.wait() }
    groups = [:]
    for place in places.values { rd_kafka_topic_destroy(place) }
    places = [:]
    client?.destroy()
    client = nil
  }

  var handle: OpaquePointer { client!.raw }

  /// Waits until a broker has answered this client. Throws when none has within the time.
  public func awaitAnswer(timeoutMilliseconds: Int32) throws(KafkaError) {
    let start = MonotonicClock.milliseconds()
    if let id = rd_kafka_clusterid(handle, timeoutMilliseconds) {
      return rd_kafka_mem_free(handle, id)
    }
    // Not every cluster has an id (Azure Event Hubs has none), and after the first answer without one librdkafka
    // does not wait.
    if rd_kafka_controllerid(handle, 0) >= 0 { return }
    let rest = Int64(timeoutMilliseconds) - Int64(MonotonicClock.milliseconds() - start)
    if rest > 0, (try? brokers(timeoutMilliseconds: Int32(rest))) != nil { return }
    throw KafkaError(
      RD_KAFKA_RESP_ERR__TRANSPORT,
      "no Kafka broker answers at \(configuration.bootstrap); is the address right, does it run?")
  }

  /// The connection errors since the last call, except the notice that all brokers are down.
  public func drainErrors() -> [KafkaError] {
    var errors: [KafkaError] = []
    while let client, let event = rd_kafka_queue_poll(client.events, 0) {
      let code = rd_kafka_event_error(event)
      if rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR,
        code != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN
      {
        errors.append(
          KafkaError(
            code: code.rawValue, message: String(cString: rd_kafka_event_error_string(event))))
      }
      rd_kafka_event_destroy(event)
    }
    return errors
  }

  /// Every topic of the cluster with its number of partitions. Creates no topic.
  public func partitionCounts(timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int] {
    try topicListing(timeoutMilliseconds: timeoutMilliseconds).sizes.mapValues(\.partitions)
  }

  public func brokerCount(timeoutMilliseconds: Int32) throws(KafkaError) -> Int {
    try brokers(timeoutMilliseconds: timeoutMilliseconds).count
  }

  /// The addresses of the cluster's current brokers, as `host:port` or `[host]:port`. A client that was not asked for
  /// topics by name is told all topics with them.
  public func brokers(timeoutMilliseconds: Int32) throws(KafkaError) -> [String] {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    let code = rd_kafka_metadata(client!.raw, 0, nil, &metadata, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata else {
      throw KafkaError(code, "cannot list the brokers at \(configuration.bootstrap)")
    }
    defer { rd_kafka_metadata_destroy(metadata) }
    return (0..<Int(metadata.pointee.broker_cnt)).map {
      let broker = metadata.pointee.brokers[$0]
      return Self.address(String(cString: broker.host), broker.port)
    }
  }

  /// An address as `bootstrap.servers` takes it: the brokers' own list has IPv6 addresses without brackets.
  static func address(_ host: String, _ port: Int32) -> String {
    host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
  }

  /// The first offset that a partition still holds and the next one to be written.
  public func watermarks(
    _ partition: TopicPartition, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    try client!.watermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The watermarks of those of these partitions for which they can be found out. A leader that does not answer within
  /// the time takes the answers of all others with it: ask for the partitions of one leader (`leaders`).
  public func knownWatermarks(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) -> [TopicPartition: Watermarks] {
    let low = client!.offsets(
      partitions, at: Int64(RD_KAFKA_OFFSET_BEGINNING), timeoutMilliseconds: timeoutMilliseconds)
    let high = client!.offsets(
      Array(low.keys), at: Int64(RD_KAFKA_OFFSET_END), timeoutMilliseconds: timeoutMilliseconds)
    var found: [TopicPartition: Watermarks] = [:]
    for (partition, end) in high {
      found[partition] = Watermarks(low: low[partition] ?? end, high: end)
    }
    return found
  }

  /// The committed offsets of a group. Does not join it.
  public func groupOffsets(
    _ group: String, _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommittedOffset] {
    try readCommitted(
      groupClient(group), group: group, partitions, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// True if the cluster's authorizer refused the group since the last call of `groupOffsets`: librdkafka keeps looking
  /// for the coordinator then, and reports the refusal only as a connection error.
  public func isRefused(_ group: String) -> Bool {
    guard let handle = groups[group], let queue = rd_kafka_queue_get_consumer(handle) else {
      return false
    }
    defer { rd_kafka_queue_destroy(queue) }
    var isRefused = false
    while let event = rd_kafka_queue_poll(queue, 0) {
      let code = rd_kafka_event_error(event)
      isRefused = isRefused || code == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED
      rd_kafka_event_destroy(event)
    }
    return isRefused
  }

  private func groupClient(_ group: String) throws(KafkaError) -> OpaquePointer {
    if let handle = groups[group] { return handle }
    let native = try configuration.makeNative(
      .group,
      fixed: [
        ("group.id", group), ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
      ])
    let handle = try native.makeClient(RD_KAFKA_CONSUMER)
    groups[group] = handle
    return handle
  }

  /// Creates topics and returns the result of each: nil if created, otherwise the error (`isTopicAlreadyThere` is true
  /// for a topic that exists).
  ///
  /// Throws when the cluster does not answer, or does not support the request.
  public func createTopics(
    _ topics: [KafkaTopicSpecification], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [(topic: String, error: KafkaError?)] {
    var requests: [OpaquePointer?] = []
    defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
    for topic in topics {
      let replication = topic.replication == 0 ? -1 : Int32(topic.replication)
      guard
        let request = rd_kafka_NewTopic_new(
          topic.name, Int32(topic.partitions), replication, nil, 0)
      else { throw .invalid("topic \(topic.name) cannot have \(topic.partitions) partitions") }
      requests.append(request)
      for (name, value) in topic.configuration.sorted(by: { $0.key < $1.key }) {
        rd_kafka_NewTopic_set_config(request, name, value)
      }
    }
    let event = try perform("create topics", timeoutMilliseconds) { client, queue in
      rd_kafka_CreateTopics(client, &requests, requests.count, nil, queue)
    }
    defer { rd_kafka_event_destroy(event) }
    var count = 0
    let results = rd_kafka_CreateTopics_result_topics(
      rd_kafka_event_CreateTopics_result(event), &count)
    return Self.outcomes(results, count)
  }

  public func deleteTopics(
    _ names: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [(topic: String, error: KafkaError?)] {
    var requests: [OpaquePointer?] = names.map { rd_kafka_DeleteTopic_new($0) }
    defer { for request in requests { rd_kafka_DeleteTopic_destroy(request) } }
    let event = try perform("delete topics", timeoutMilliseconds) { client, queue in
      rd_kafka_DeleteTopics(client, &requests, requests.count, nil, queue)
    }
    defer { rd_kafka_event_destroy(event) }
    var count = 0
    let results = rd_kafka_DeleteTopics_result_topics(
      rd_kafka_event_DeleteTopics_result(event), &count)
    return Self.outcomes(results, count)
  }

  /// Sends one admin request and waits for its answer, which the caller destroys.
  func perform(
    _ attempt: String, _ timeoutMilliseconds: Int32,
    _ send: (_ client: OpaquePointer, _ answers: OpaquePointer) -> Void
  ) throws(KafkaError) -> OpaquePointer {
    let answers = rd_kafka_queue_new(client!.raw)!
    defer { rd_kafka_queue_destroy(answers) }
    send(client!.raw, answers)
    guard let event = rd_kafka_queue_poll(answers, timeoutMilliseconds) else {
      throw KafkaError(RD_KAFKA_RESP_ERR__TIMED_OUT, "cannot \(attempt)")
    }
    let code = rd_kafka_event_error(event)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      let text = String(cString: rd_kafka_event_error_string(event))
      rd_kafka_event_destroy(event)
      throw KafkaError(code: code.rawValue, message: "cannot \(attempt): \(text)")
    }
    return event
  }

  private static func outcomes(
    _ results: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int
  ) -> [(topic: String, error: KafkaError?)] {
    (0..<count).map { index in
      let result = results![index]
      let name = String(cString: rd_kafka_topic_result_name(result))
      let code = rd_kafka_topic_result_error(result)
      guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return (name, nil) }
      let text = rd_kafka_topic_result_error_string(result).map { String(cString: $0) } ?? ""
      return (name, KafkaError(code: code.rawValue, message: "topic \(name): \(text)"))
    }
  }
}

extension KafkaError {
  public var isTopicAlreadyThere: Bool {
    code == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS.rawValue
  }

  /// A hint for the operator whose cluster did not create a topic; nil if the cause is obvious or unknown.
  public var remedyOfCreation: String? {
    switch rd_kafka_resp_err_t(code) {
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
      RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
      "grant this Kafka user Create on the cluster, or have an administrator create the topic"
    case RD_KAFKA_RESP_ERR_INVALID_REPLICATION_FACTOR:
      "pass a number of copies that the cluster takes with --replication"
    case RD_KAFKA_RESP_ERR_INVALID_CONFIG, RD_KAFKA_RESP_ERR_POLICY_VIOLATION:
      "this cluster does not take such a topic: create it with the cluster's own tool and what it does take (martlet"
        + " topics create --dry-run lists the settings), then run martlet topics check"
    default: nil
    }
  }
}
