// SPDX-License-Identifier: Apache-2.0
import Contract
import Feedback
import Kafka
import Records
import ServiceKit
import Store
import TestSupport

/// A cluster with the topics of device tokens, and a folder for the database.
final class FeedbackFixture {
  let kafka: KafkaFixture
  let folder = TemporaryFolder()
  let names: TopicNames
  let producer: KafkaProducer
  /// Where it is.
  let database: String

  /// - Parameters:
  ///   - database: a SQLite file, or a database on a PostgreSQL server.
  ///   - partitions: of each topic that `counts` does not name.
  ///   - embedded: insists on an embedded broker.
  ///   - letterBytes: `max.message.bytes` of the dead letters.
  init(
    _ database: DatabaseKind = .sqlite, partitions: Int = 4, counts: [String: Int] = [:],
    embedded: Bool = false, letterBytes: Int? = nil
  ) throws {
    self.database =
      database == .sqlite ? folder.file("tokens.db") : try database.location(in: folder)
    kafka = try KafkaFixture(embedded: embedded)
    names = TopicNames(prefix: kafka.prefix)
    for topic in ["feedback", "devices", "invalid-tokens"] {
      try kafka.createTopic(
        topic, partitions: counts[topic] ?? partitions, compacted: topic == "invalid-tokens")
    }
    try kafka.createTopic("dead-letters", partitions: 2, mostBytes: letterBytes)
    producer = try KafkaProducer(kafka.configuration)
  }

  deinit { producer.close() }

  static func device(_ number: Int, _ environment: Environment = .production) -> DeviceKey {
    let digits = String(number, radix: 16)
    return DeviceKey(
      token: String(repeating: "0", count: 64 - digits.count) + digits, app: "com.example.app",
      environment: environment)
  }

  static func feedback(
    _ device: DeviceKey, status: UInt16 = 410, reason: String = "Unregistered",
    timestamp: Int64? = 1_000, sentAt: Int64 = 2_000
  ) -> FeedbackRecord {
    FeedbackRecord(
      device: device, topic: device.app, status: status, reason: reason, timestamp: timestamp,
      apnsID: "", sentAt: sentAt, at: sentAt + 1)
  }

  /// Produces records without waiting for each.
  func produce(_ topic: String, _ records: [(key: [UInt8], value: [UInt8]?)]) throws {
    let topic = try producer.topic(named: topic)
    for (key, value) in records {
      let result = producer.produce(topic, key: key, value: value, tag: 0)
      guard case .queued = result else { throw KafkaFixtureTimeout() }
    }
    guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
    _ = producer.drainDeliveries()
  }

  func send(_ feedback: [FeedbackRecord]) throws {
    try produce(names.feedback, feedback.map { ($0.key, $0.value) })
  }

  func send(_ devices: [DeviceRecord]) throws {
    try produce(names.devices, devices.map { ($0.key, $0.value) })
  }

  /// - Parameters:
  ///   - database: another one than the fixture's: another host.
  ///   - property: of librdkafka, for the consumer.
  func start(
    database: String? = nil, property: KafkaConfiguration.Property? = nil, flags: [String] = []
  ) throws -> RunningService {
    let context = try FeedbackService.context(
      [
        "--topic-prefix", kafka.prefix, "--database", database ?? self.database,
        // Hundreds of invalid tokens at once are a wave otherwise.
        "--bad-token-limit", "1000000",
      ] + flags)
    var settings = try FeedbackSettings(context.values)
    settings.kafka = kafka.configuration
    if let property { settings.kafka.consumer.append(property) }
    return try RunningService(context, settings, FeedbackService.run)
  }

  /// Invalid tokens in the database, once there are this many (or the time is up).
  func invalid(atLeast count: Int) -> [InvalidDevice] {
    var devices: [InvalidDevice] = []
    _ = eventually {
      devices = (try? TokenStoreReader(database).invalidDevices()) ?? []
      return devices.count >= count
    }
    return devices
  }

  /// The table that `invalid-tokens` stands for, by key, once it has this many keys (or the time is up); nil
  /// values are tombstones. A process that takes over may publish a state twice.
  func published(keys count: Int) throws -> [String: String?] {
    let table = try KafkaTable(kafka.configuration, topic: names.invalidTokens)
    defer { table.close() }
    var content: [String: String?] = [:]
    _ = eventually {
      table.poll(timeoutMilliseconds: 20) { key, value in
        content[String(decoding: key, as: UTF8.self)] =
          .some(value.map { String(decoding: $0, as: UTF8.self) })
      }
      return table.isCaughtUp && content.count >= count
    }
    return content
  }

  /// The committed offsets of the group over a topic, added up.
  func committed(_ topic: String, partitions: Int = 4) throws -> Int64 {
    try kafka.committed(names.group(.feedback), topic, partitions: partitions)
  }
}
