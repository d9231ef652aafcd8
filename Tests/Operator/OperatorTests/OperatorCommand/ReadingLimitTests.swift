// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Glibc
import Kafka
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct ReadingLimitTests {
  @Test func `reading a topic whose broker is lost ends with an error`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)], embedded: true)
    let topic = fixture.name("receipts")
    try fixture.produce(topic, key: "a", value: "1")
    // Nothing that was asked for has arrived when the broker goes away.
    fixture.broker?.inject(Array(repeating: .notLeader, count: 10_000), into: .fetch)
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .beginning)
    defer { tail.close() }
    fixture.broker?.setDown()
    let start = MonotonicClock.milliseconds()
    let failure = #expect(throws: ServiceFailure.self) {
      try tail.visit(to: [1], .test(), patience: 1_000) { _ in true }
    }
    let words = "\(topic) could not be read to its end"
    #expect(failure?.description.hasPrefix(words) == true, "\(failure?.description ?? "")")
    #expect(MonotonicClock.milliseconds() - start >= 1_000)
  }

  @Test func `a partition without a leader is not waited for as long as others grow`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 2)], embedded: true)
    let topic = fixture.name("receipts")
    func key(of partition: Int32) -> String {
      let keys = (0..<100).map { "\($0)" }
      return keys.first { KafkaPartitioner.partition(of: Array($0.utf8), among: 2) == partition }!
    }
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let handle = try producer.topic(named: topic)
    for partition in 0..<Int32(2) {
      try fixture.produce(producer, handle, key: key(of: partition), value: "1")
    }
    // Nothing arrives before one of them has lost its leader.
    fixture.broker?.inject(Array(repeating: .notLeader, count: 100_000), into: .fetch)
    let tail = try KafkaTail(fixture.configuration, topic: topic, from: .beginning)
    defer { tail.close() }
    try fixture.broker?.setLeader(topic: topic, partition: 1, broker: -1)
    fixture.broker?.clearFaults(of: .fetch)
    var records = 0
    let failure = #expect(throws: ServiceFailure.self) {
      try tail.visit(to: tail.ends, .test(), patience: 1_000) { _ in
        records += 1
        _ = try? fixture.produce(producer, handle, key: key(of: 0), value: "1")
        return records < 10_000
      }
    }
    let words = "\(topic) could not be read to its end"
    #expect(failure?.description.hasPrefix(words) == true, "\(failure?.description ?? "")")
  }

  /// Its end is never reported: each fetch brings a record.
  @Test func `a table that is written to all the time is read to the end that it had`() throws {
    let fixture = try KafkaFixture(topics: [("schedule", 1)])
    let topic = fixture.name("schedule")
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let handle = try producer.topic(named: topic)
    try fixture.produce(producer, handle, key: "a", value: "1")
    let context = try ServiceContext.test()
    let cluster = try KafkaCluster(fixture.configuration, context)
    let table = try KafkaTable(fixture.configuration, topic: topic)
    defer { table.close() }
    var records = 0
    try table.readToEnd(
      cluster, context, forget: { records = 0 },
      { _ in
        records += 1
        guard records < 1_000 else { return }
        _ = try? fixture.produce(producer, handle, key: "a", value: "1")
      })
    #expect((1..<1_000).contains(records))
  }

  @Test func `each record that arrives begins the wait anew`() throws {
    var limit = ReadingLimit(milliseconds: 0)
    #expect(throws: ServiceFailure.self) { try limit.demand("receipts", nil) }
    limit = ReadingLimit(milliseconds: 60_000)
    limit.restart()
    try limit.demand("receipts", nil)
    let error = KafkaError.invalid("no leader")
    let failure = #expect(throws: ServiceFailure.self) {
      try ReadingLimit(milliseconds: 0).demand("receipts", error)
    }
    #expect(failure?.description == "receipts could not be read to its end: \(error)")
  }

  /// More time would not help.
  @Test func `provider tokens that may not be read are no matter of time`() throws {
    let fixture = try KafkaFixture(topics: [("provider-tokens", 1)], embedded: true)
    let topic = fixture.name("provider-tokens")
    try fixture.produce(topic, key: "a", value: "1")
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 100_000)
    fixture.broker?.inject(refusals, into: .fetch)
    let values = try ChannelsListCommand.values([
      "--app", "a.b", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    let settings = try ChannelSettings(values)
    let failure = #expect(throws: ServiceFailure.self) {
      _ = try CurrentProviderToken.authorization(
        app: settings.app, settings.environment, settings.cluster, settings.seal,
        TimeLimit(milliseconds: 60_000), ServiceContext(values))
    }
    #expect(
      failure?.description
        == "this user may not read topic \(topic): needs Read on it (TOPIC_AUTHORIZATION_FAILED)")
  }

  /// Nor would it for one that somebody has stopped.
  @Test func `provider tokens of an interrupted command are no matter of time`() throws {
    let fixture = try KafkaFixture(topics: [("provider-tokens", 1)])
    let values = try ChannelsListCommand.values([
      "--app", "a.b", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    let (settings, context) = (try ChannelSettings(values), ServiceContext(values))
    context.signals.requestStop(by: SIGINT)
    let failure = #expect(throws: ServiceFailure.self) {
      _ = try CurrentProviderToken.authorization(
        app: settings.app, settings.environment, settings.cluster, settings.seal,
        TimeLimit(milliseconds: 60_000), context)
    }
    #expect(failure?.description.hasPrefix("interrupted: ") == true && failure?.status == 130)
  }
}
