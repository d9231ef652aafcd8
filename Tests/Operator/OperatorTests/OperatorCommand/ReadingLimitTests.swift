// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
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
}
