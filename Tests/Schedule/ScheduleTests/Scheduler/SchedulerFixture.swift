// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Ingest
import Kafka
import Records
import Scheduler
import ServiceKit
import Store
import Telemetry
import TestSupport

/// A cluster with all topics of the pipeline, for ingest and the scheduler.
final class SchedulerFixture {
  let kafka: KafkaFixture
  let names: TopicNames
  let producer: KafkaProducer
  let folder = TemporaryFolder()

  /// - Parameters:
  ///   - requestBytes: `max.message.bytes` of the requests.
  ///   - letterBytes: `max.message.bytes` of the dead letters.
  init(partitions: Int = 2, requestBytes: Int? = nil, letterBytes: Int? = nil) throws {
    kafka = try KafkaFixture()
    names = TopicNames(prefix: kafka.prefix)
    for topic in names.all {
      try kafka.createTopic(
        String(topic.name.dropFirst(kafka.prefix.count)), partitions: partitions,
        compacted: topic.cleanup == .compact,
        mostBytes: topic.name == names.requests
          ? requestBytes : topic.name == names.deadLetters ? letterBytes : nil)
    }
    producer = try KafkaProducer(kafka.configuration)
  }

  func ingest() throws -> RunningService {
    let context = try IngestService.context(["--topic-prefix", kafka.prefix])
    var settings = try IngestSettings(context.values)
    settings.kafka = kafka.configuration
    return try RunningService(context, settings, IngestService.run)
  }

  func scheduler(_ database: String, _ flags: [String] = []) throws -> RunningService {
    let context = try SchedulerService.context(
      ["--topic-prefix", kafka.prefix, "--database", database] + flags)
    var settings = try SchedulerSettings(context.values)
    settings.kafka = kafka.configuration
    return try RunningService(context, settings, SchedulerService.run)
  }

  /// A time so many milliseconds after these services work on their partitions.
  func due(in milliseconds: Int64, for services: RunningService...) -> Int64 {
    expectEventually { services.allSatisfy { $0.counter("partitions_assigned") > 0 } }
    return WallClock.milliseconds() + milliseconds
  }

  /// A database of device tokens, complete and empty, and where it is.
  func devices(_ kind: DatabaseKind = .sqlite) throws -> (location: String, store: TokenStore) {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try store.setComplete(at: 1)
    return (location, store)
  }

  @discardableResult
  func produce(
    _ topic: String, key: String? = nil, _ value: String?, headers: [KafkaHeader] = []
  ) throws -> Delivery {
    try kafka.produce(
      producer, producer.topic(named: topic), key: key, value: value, headers: headers)
  }

  /// A request for one device with an id.
  func request(_ id: String, sendAt: Int64, more: String = "") throws {
    let time = Timestamp.text(milliseconds: sendAt)
    try produce(
      names.requests,
      #"{"app":"com.example.app","id":"\#(id)","token":"\#(Self.token)","payload":{"aps":{"alert":"x"}},"#
        + #""send_at":"\#(time)"\#(more)}"#)
  }

  func cancel(_ id: String) throws {
    let value = ScheduleCancellation(at: WallClock.milliseconds(), by: "test").value
    try produce(
      names.schedule, key: "com.example.app:production:\(id)",
      String(decoding: value, as: UTF8.self))
  }

  /// Everything that is on a topic.
  func readAll(_ topic: String) throws -> [ReadRecord] { try kafka.configuration.readAll(topic) }

  /// The ids of the requests whose notifications are on the lane, with the timestamps of their records.
  func sent() throws -> [(id: String, at: Int64)] {
    try readAll(names.notifications(.first)).compactMap { record in
      var value = record.value ?? ""
      return value.withUTF8 { bytes -> (id: String, at: Int64)? in
        guard let envelope = try? Envelope.parse(bytes.span, types: .any, lanes: .any) else {
          return nil
        }
        let id = bytes[envelope.requestID.indices]
        return (String(decoding: id, as: UTF8.self), record.timestamp)
      }
    }
  }

  func receipts() throws -> [Receipt] {
    let parser = JSONParser()
    return try readAll(names.receipts).flatMap { record in
      try Array((record.value ?? "").utf8).withUnsafeBytes {
        try Receipt.all(in: $0, parser: parser)
      }
    }
  }

  /// The receipt that says to how many devices a request was addressed.
  func summary(_ id: String) throws -> Receipt? {
    try receipts().first { $0.id == id && $0.outcome == .addressed }
  }

  /// The tokens or channels that a request was sent to.
  func keys(_ id: String) throws -> [String] {
    try readAll(names.notifications(.first)).compactMap { record in
      record.value?.contains("\t\(id)\t") == true ? record.key : nil
    }.sorted()
  }

  static func campaign(
    _ json: String, at time: Int64 = WallClock.milliseconds()
  ) throws -> CampaignRecord {
    try Array(json.utf8).withUnsafeBytes {
      try CampaignRecord(json: $0, at: time, by: "test", parser: JSONParser())
    }
  }

  func start(_ campaign: CampaignRecord) throws {
    try produce(
      names.schedule, key: "\(campaign.key)", String(decoding: campaign.value, as: UTF8.self))
  }

  static let token = String(repeating: "ab", count: 32)
}
