// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

/// Brokers whose metadata differs: here of two clusters.
@Suite(.onOwnThread) struct TopicSpreadTests {
  @Test func `the command waits for the broker that learns of a topic last`() throws {
    let (first, second) = (try KafkaFixture(embedded: true), try KafkaFixture(embedded: true))
    let broker = try #require(second.broker)
    try #require(first.broker).createTopic(.init("new", partitions: 1))
    let spread = spread(first, second)
    let begin = MonotonicClock.milliseconds()
    let thread = try LoopThread(name: "creator") {
      _ = eventually { MonotonicClock.milliseconds() > begin + 300 }
      try? broker.createTopic(.init("new", partitions: 1))
    }
    #expect(spread.wait(timeLimit: TimeLimit(milliseconds: 20_000)) == nil)
    #expect(MonotonicClock.milliseconds() > begin + 300)
    thread.join()
  }

  @Test func `the command says which broker lacks which topic`() throws {
    let (first, second) = (try KafkaFixture(embedded: true), try KafkaFixture(embedded: true))
    try #require(first.broker).createTopic(.init("new", partitions: 1))
    #expect(
      spread(first, second).wait(timeLimit: TimeLimit(milliseconds: 300))
        == "broker \(second.configuration.bootstrap) lacks new")
  }

  private func spread(_ first: KafkaFixture, _ second: KafkaFixture) -> TopicSpread {
    TopicSpread(
      configuration: first.configuration,
      brokers: [first, second].map(\.configuration.bootstrap), topics: ["new"])
  }
}
