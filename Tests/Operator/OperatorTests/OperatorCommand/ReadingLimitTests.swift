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
}
