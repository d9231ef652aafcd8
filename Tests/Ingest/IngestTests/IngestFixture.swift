// SPDX-License-Identifier: Apache-2.0
import Contract
import Ingest
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport

/// A cluster with all topics of the pipeline, and requests on it.
final class IngestFixture {
  let kafka: KafkaFixture
  let names: TopicNames
  let producer: KafkaProducer

  /// - Parameters:
  ///   - lanePartitions: partitions of both lanes.
  ///   - hasSchedule: false: the topic of the schedule is missing.
  ///   - scheduleBytes: its `max.message.bytes`.
  init(
    requestPartitions: Int = 4, lanePartitions: Int = 4, embedded: Bool = false,
    hasSchedule: Bool = true, scheduleBytes: Int? = nil
  ) throws {
    kafka = try KafkaFixture(embedded: embedded)
    names = TopicNames(prefix: kafka.prefix)
    let full = kafka.prefix.count
    for topic in names.all where hasSchedule || topic.name != names.schedule {
      let partitions =
        topic.name == names.requests
        ? requestPartitions
        : [names.notifications(.first), names.notifications(.bulk)].contains(topic.name)
          ? lanePartitions : 2
      try kafka.createTopic(
        String(topic.name.dropFirst(full)), partitions: partitions,
        compacted: topic.cleanup == .compact,
        mostBytes: topic.name == names.schedule ? scheduleBytes : nil)
    }
    producer = try KafkaProducer(kafka.configuration)
  }

  /// Produces to a topic; waits until the broker has it.
  @discardableResult
  func produce(
    _ topic: String, key: String? = nil, _ value: String?, headers: [KafkaHeader] = []
  ) throws -> Delivery {
    try kafka.produce(
      producer, producer.topic(named: topic), key: key, value: value, headers: headers)
  }

  /// Produces many requests and waits once.
  func request(_ values: [String]) throws {
    let topic = try producer.topic(named: names.requests)
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    for value in values {
      let result = Array(value.utf8).withUnsafeBytes {
        producer.produce(topic, key: none, value: $0, tag: 0)
      }
      guard case .queued = result else { throw KafkaFixtureTimeout() }
    }
    guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
    let deliveries = producer.drainDeliveries()
    if let error = deliveries.lazy.compactMap(\.refused).first { throw error }
  }

  /// - Parameter properties: of its producer.
  func start(
    _ flags: [String] = [], producer properties: [KafkaConfiguration.Property] = []
  ) throws -> RunningService {
    let context = try IngestService.context(["--topic-prefix", kafka.prefix] + flags)
    var settings = try IngestSettings(context.values)
    settings.kafka = kafka.configuration
    settings.kafka.producer += properties
    return try RunningService(context, settings, IngestService.run)
  }

  func read(_ topic: String, count: Int) throws -> [ReadRecord] {
    try kafka.read(topic, count: count, timeoutMilliseconds: 30_000)
  }

  /// Everything that is on a topic.
  func readAll(_ topic: String) throws -> [ReadRecord] { try kafka.configuration.readAll(topic) }

  func receipts(count: Int) throws -> [Receipt] {
    let parser = JSONParser()
    var receipts: [Receipt] = []
    _ = try eventually {
      receipts = []
      for record in try readAll(names.receipts) {
        try Array((record.value ?? "").utf8).withUnsafeBytes {
          receipts += try Receipt.all(in: $0, parser: parser)
        }
      }
      return receipts.count >= count
    }
    return receipts
  }

  /// The committed offsets of ingest, added up.
  func committed(requestPartitions: Int = 4) throws -> Int64 {
    try commits(requestPartitions: requestPartitions).reduce(0) { $0 + ($1 ?? 0) }
  }

  /// What the group has committed of each partition of requests.
  func commits(requestPartitions: Int = 4) throws -> [Int64?] {
    let admin = try KafkaAdmin(kafka.configuration)
    defer { admin.close() }
    let partitions = (0..<Int32(requestPartitions)).map {
      TopicPartition(topic: names.requests, partition: $0)
    }
    return try admin.groupOffsets(names.group(.ingest), partitions, timeoutMilliseconds: 30_000)
      .map(\.offset)
  }

  static let token = String(repeating: "ab", count: 32)

  /// A request with the required fields and these further ones.
  static func request(_ more: String = "", token: String = token) -> String {
    #"{"app":"com.example.app","token":"\#(token)","payload":{"aps":{"alert":"x"}}\#(more)}"#
  }
}

extension RunningService {
  /// The series of a metric by their label values.
  func samples(_ metric: String) -> [[String]: Int] {
    var found: [[String]: Int] = [:]
    for sample in context.counters.samples where sample.metric.name == metric {
      if case .integer(let value) = sample.value { found[sample.labels] = value }
    }
    return found
  }
}
