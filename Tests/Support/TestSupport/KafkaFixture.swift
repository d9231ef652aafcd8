// SPDX-License-Identifier: Apache-2.0
public import EmbeddedKafka
import Glibc
public import Kafka

/// A Kafka cluster for one test: its own embedded broker, or the cluster named by `MARTLET_TEST_KAFKA=host:port`, with
/// its own topics and groups.
///
/// Topics created on a real cluster are deleted with the fixture.
public final class KafkaFixture {
  /// The embedded broker; nil on a real cluster. Tests that inject faults need one.
  public let broker: EmbeddedBroker?
  /// Connects clients to the cluster, with timeouts suited to tests.
  public let configuration: KafkaConfiguration
  /// The session timeout of a group member here, in milliseconds: longer than a busy machine pauses.
  public static let sessionMilliseconds = 10_000
  /// The prefix of every topic and group name of this run, ending with a dot.
  public let prefix: String
  private var created: [String] = []

  /// The address of the real cluster to test against, if any.
  public static var realCluster: String? {
    guard let address = getenv("MARTLET_TEST_KAFKA") else { return nil }
    let text = String(cString: address)
    return text.isEmpty ? nil : text
  }

  /// - Parameter embedded: Requires an embedded broker, for faults that only it can inject.
  public init(topics: [(name: String, partitions: Int)] = [], embedded: Bool = false) throws {
    prefix = "test-\(String(UInt64.random(in: .min ... .max), radix: 36))."
    if let address = Self.realCluster, !embedded {
      broker = nil
      configuration = Self.tuned(
        KafkaConfiguration(bootstrap: address, clientID: "martlet-test"))
    } else {
      // Brokers disappear while clients of other tests still look for them; that is expected.
      KafkaLog.silence()
      let embedded = try EmbeddedBroker()
      broker = embedded
      configuration = Self.tuned(
        KafkaConfiguration(bootstrap: embedded.bootstrap, clientID: "martlet-test"))
    }
    for topic in topics { try createTopic(topic.name, partitions: topic.partitions) }
  }

  deinit {
    guard broker == nil, !created.isEmpty, let admin = try? KafkaAdmin(configuration) else {
      return
    }
    _ = try? admin.deleteTopics(created, timeoutMilliseconds: 30_000)
  }

  private static func tuned(_ configuration: KafkaConfiguration) -> KafkaConfiguration {
    var tuned = configuration
    tuned.common = [("reconnect.backoff.max.ms", "200")]
    tuned.consumer = [
      ("fetch.wait.max.ms", "10"), ("heartbeat.interval.ms", "500"),
      ("session.timeout.ms", "\(sessionMilliseconds)"),
    ]
    tuned.producer = [("linger.ms", "1")]
    return tuned
  }

  /// The full name of a topic or group of this run.
  public func name(_ short: String) -> String { prefix + short }

  /// The sum of a group's committed offsets over a topic's partitions.
  public func committed(_ group: String, _ topic: String, partitions: Int = 4) throws -> Int64 {
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    return try admin.groupOffsets(group, all, timeoutMilliseconds: 30_000)
      .reduce(0) { $0 + ($1.offset ?? 0) }
  }

  /// Creates a topic and returns its full name.
  @discardableResult
  public func createTopic(
    _ short: String, partitions: Int, compacted: Bool = false, mostBytes: Int? = nil
  ) throws -> String {
    let full = name(short)
    var settings: [(name: String, value: String)] = []
    if compacted { settings.append(("cleanup.policy", "compact")) }
    if let mostBytes { settings.append(("max.message.bytes", "\(mostBytes)")) }
    if let broker {
      try broker.createTopic(.init(full, partitions: partitions, settings: settings))
      return full
    }
    let admin = try KafkaAdmin(configuration)
    defer { admin.close() }
    let topic = KafkaTopicSpecification(
      full, partitions: partitions,
      configuration: Dictionary(uniqueKeysWithValues: settings.map { ($0.name, $0.value) }))
    for result in try admin.createTopics([topic], timeoutMilliseconds: 30_000) {
      if let error = result.error { throw error }
    }
    created.append(full)
    try admin.awaitLeaders(of: [topic], timeoutMilliseconds: 30_000)
    return full
  }

  /// Produces a record and waits for the acknowledgement; returns its offset.
  @discardableResult
  public func produce(
    _ producer: KafkaProducer, _ topic: KafkaTopic, key: String?, value: String?,
    headers: [KafkaHeader] = []
  ) throws -> Delivery {
    let keyBytes = key.map { Array($0.utf8) }
    let valueBytes = value.map { Array($0.utf8) }
    let result = withBytes(keyBytes) { key in
      withBytes(valueBytes) { value in
        producer.produce(
          topic, key: key, value: valueBytes == nil ? nil : value, headers: headers, tag: 1)
      }
    }
    if case .refused(let error) = result { throw error }
    guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
    let deliveries = producer.drainDeliveries()
    if let error = deliveries[0].refused { throw error }
    return deliveries[0]
  }

  /// Reads a topic from its start until `count` records are read or time runs out.
  public func read(
    _ topic: String, count: Int, timeoutMilliseconds: UInt64 = 60_000
  ) throws -> [ReadRecord] {
    var records: [ReadRecord] = []
    try configuration.read(
      topic, withinMilliseconds: timeoutMilliseconds, { records.append(ReadRecord($0)) },
      until: { _ in records.count >= count })
    return records
  }

  /// Produces one record with a producer of its own, and waits for the acknowledgement.
  @discardableResult
  public func produce(
    _ topic: String, key: String?, value: String?, headers: [KafkaHeader] = []
  ) throws -> Delivery {
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    return try produce(
      producer, producer.topic(named: topic), key: key, value: value, headers: headers)
  }

  private func withBytes<R>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    guard let bytes else { return body(UnsafeRawBufferPointer(start: nil, count: 0)) }
    return bytes.withUnsafeBytes(body)
  }
}

/// A record, copied out of its batch.
public struct ReadRecord: Sendable, Equatable {
  public let key: String?
  public let value: String?
  public let partition: Int32
  public let offset: Int64
  public let timestamp: Int64
  public let headers: [KafkaHeader]

  public init(_ record: KafkaRecord) {
    key = record.key.baseAddress == nil ? nil : String(decoding: record.key, as: UTF8.self)
    value = record.value.baseAddress == nil ? nil : String(decoding: record.value, as: UTF8.self)
    partition = record.partition
    offset = record.offset
    timestamp = record.timestamp
    headers = record.headers
  }
}

/// Kafka did not answer a test in time.
public struct KafkaFixtureTimeout: Error {
  public init() {}
}
