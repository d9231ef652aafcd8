// SPDX-License-Identifier: Apache-2.0
import Kafka
import Pipeline
import ServiceKit
import Settings
import Telemetry
import TestSupport
import Testing

@testable import LabCommand

/// A context as the harness would make it.
private func context<S: Service>(_ service: S.Type) throws -> ServiceContext {
  let table = CommonSettings.table(of: service)
  let arguments = table.operands == nil ? [] : ["x"]
  let values = try table.read(CommandLineFlags(arguments, for: table), environment: [:], file: nil)
  return ServiceContext(name: S.name, log: Logger(service: "test", level: .error), values: values)
}

@Suite struct RetentionWatchTests {
  /// Fills each topic's one partition beyond what the embedded broker holds.
  private func watch(
    _ topics: [TopicSpecification], committed: Bool = false
  ) throws -> RetentionWatch {
    let fixture = try KafkaFixture(
      topics: topics.map { ($0.name, 1) }, embedded: true)
    let named = topics.map {
      TopicSpecification(
        name: fixture.name($0.name), partitions: 1, cleanup: $0.cleanup,
        readerGroup: $0.readerGroup.map { fixture.name($0) })
    }
    let watch = try RetentionWatch(named, fixture.configuration, context(BrokerCommand.self))
    var configuration = fixture.configuration
    configuration.producer = [("compression.type", "none")]
    let producer = try KafkaProducer(configuration)
    let value = [UInt8](repeating: 120, count: 500_000)
    for topic in named {
      let handle = try producer.topic(named: topic.name)
      for _ in 0..<20 {
        value.withUnsafeBytes {
          _ = producer.produce(handle, key: .init(start: nil, count: 0), value: $0, tag: 0)
        }
        #expect(producer.flush(timeoutMilliseconds: 10_000))
      }
    }
    watch.look()
    return watch
  }

  private func topic(
    _ group: String?, _ cleanup: TopicSpecification.Cleanup = .delete
  ) -> TopicSpecification {
    TopicSpecification(name: "filled", partitions: 1, cleanup: cleanup, readerGroup: group)
  }

  @Test func `records dropped before their group read them are counted and end with a failure`()
    throws
  {
    let watch = try watch([topic("readers")])
    #expect(watch.dropped >= 8 && watch.dropped <= 12)
    watch.look()
    #expect(watch.dropped <= 12)
    #expect(throws: ServiceFailure.self) { try watch.finish() }
  }

  @Test func `a ring may turn`() throws {
    let watch = try watch([topic(nil)])
    #expect(watch.dropped == 0)
    try watch.finish()
  }

  @Test func `a table may not lose entries`() throws {
    let watch = try watch([topic(nil, .compact)])
    #expect(watch.dropped > 0)
  }

  @Test func `what fits is not counted`() throws {
    let fixture = try KafkaFixture(topics: [("small", 1)], embedded: true)
    let named = TopicSpecification(
      name: fixture.name("small"), partitions: 1, cleanup: .delete, readerGroup: "readers")
    let watch = try RetentionWatch([named], fixture.configuration, context(BrokerCommand.self))
    let producer = try KafkaProducer(fixture.configuration)
    try fixture.produce(producer, producer.topic(named: named.name), key: nil, value: "x")
    watch.look()
    #expect(watch.dropped == 0)
    try watch.finish()
  }
}
