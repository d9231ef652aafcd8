// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import ServiceKit
import Telemetry
import TestSupport

@testable import WebhookDelivery

/// A cluster with the topics that webhooks are made of.
final class WebhookFixture {
  static let secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

  let kafka: KafkaFixture
  let folder = TemporaryFolder()
  let names: TopicNames
  let producer: KafkaProducer
  private let partitions: Int

  /// - Parameter letterBytes: `max.message.bytes` of the dead letters.
  init(partitions: Int = 2, letterBytes: Int? = nil) throws {
    self.partitions = partitions
    kafka = try KafkaFixture(
      topics: [
        ("receipts", partitions), ("devices", 1), ("invalid-tokens", 1),
      ])
    try kafka.createTopic("dead-letters", partitions: 1, mostBytes: letterBytes)
    names = TopicNames(prefix: kafka.prefix)
    producer = try KafkaProducer(kafka.configuration)
  }

  deinit { producer.close() }

  /// A subscription as the file has it.
  ///
  /// - Parameter timeout: milliseconds until a request is given up; where none must be, more than a busy machine takes.
  static func subscription(
    _ name: String, _ url: String, events: String = "*", timeout: Int = 20_000, more: String = ""
  ) -> String {
    """
    {"name":"\(name)","url":"\(url)","secrets":["\(secret)"],"events":["\(events)"],\
    "linger_ms":0,"timeout_ms":\(timeout)\(more)}
    """
  }

  func start(
    _ subscriptions: [String], _ flags: [String] = [],
    _ change: (inout WebhookSettings) -> Void = { _ in }
  ) throws -> RunningService {
    let file = folder.file("subscriptions-\(UInt32.random(in: 0 ... .max))")
    try File.write(file, Array("[\(subscriptions.joined(separator: ","))]".utf8), mode: 0o600)
    let context = try WebhookService.context(
      ["--topic-prefix", kafka.prefix, "--subscriptions", file, "--allow-http"] + flags)
    var settings = try WebhookSettings(context.values)
    settings.kafka = kafka.configuration
    change(&settings)
    return try RunningService(context, settings, WebhookService.run)
  }

  /// Produces receipts with these ids to a partition chosen by a key, each a record of its own.
  func receipts(_ ids: [String], key: String? = nil, outcome: String = "delivered") throws {
    try produce(names.receipts, ids.map { (key, Self.receipt($0, outcome: outcome)) })
  }

  static func receipt(_ id: String, outcome: String = "delivered") -> String {
    """
    {"outcome":"\(outcome)","apns_id":"6f9619ff-8b86-4d01-8b42-00cf4fc964ff","id":"\(id)",\
    "app":"com.example.app","environment":"production","token":"ab","at":1795000000045}
    """
  }

  func produce(_ topic: String, _ records: [(key: String?, value: String)]) throws {
    let topic = try producer.topic(named: topic)
    for (key, value) in records {
      let bytes = key.map { Array($0.utf8) }
      let result = Array(value.utf8).withUnsafeBytes { value in
        (bytes ?? []).withUnsafeBytes { key in
          producer.produce(
            topic, key: bytes == nil ? UnsafeRawBufferPointer(start: nil, count: 0) : key,
            value: value, tag: 0)
        }
      }
      guard case .queued = result else { throw KafkaFixtureTimeout() }
    }
    guard producer.flush(timeoutMilliseconds: 30_000) else { throw KafkaFixtureTimeout() }
    _ = producer.drainDeliveries()
  }

  /// The committed offsets of an endpoint's group over the receipts, added up.
  func committed(_ endpoint: String) throws -> Int64 {
    try kafka.committed(names.webhookGroup(endpoint), names.receipts, partitions: Int(partitions))
  }
}

extension RunningService {
  /// The page that Prometheus reads.
  var metrics: MetricPage {
    get throws { try MetricPage(MetricText.page(context.counters.samples)) }
  }
}
