// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

/// A command's first word with a cluster.
@Suite struct KafkaClusterTests {
  @Test func `a refused password is the error, not a broker that does not answer`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let user = RestrictedUser(try #require(fixture.broker), rights: [])
    var kafka = fixture.configuration
    kafka.common += user.properties
    kafka.common.append(("sasl.password", "wrong"))
    let failure = #expect(throws: ServiceFailure.self) {
      _ = try KafkaCluster(kafka, .test(), timeLimit: TimeLimit(milliseconds: 60_000))
    }
    let text = "\(failure!)"
    #expect(text.contains("Authentication failed") && text.contains("kafka.sasl.*"), "\(text)")
  }

  @Test func `what a client has met is told of a broker that does not answer`() throws {
    KafkaLog.silence()
    let kafka = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    let failure = #expect(throws: ServiceFailure.self) {
      _ = try KafkaCluster(kafka, .test(), timeLimit: TimeLimit(milliseconds: 5_000))
    }
    let text = "\(failure!)"
    #expect(text.contains("does it run?") && text.contains("refused"), "\(text)")
  }

  @Test func `a topic whose look-up is not answered is not said to be missing`() throws {
    let fixture = try KafkaFixture(topics: [("requests", 3)], embedded: true)
    let topic = fixture.name("requests")
    fixture.broker?.setTopic(topic, fault: .requestTimedOut)
    let cluster = try KafkaCluster(fixture.configuration, .test())
    let failure = #expect(throws: ServiceFailure.self) { try cluster.demand(topic, "create it") }
    let text = "\(failure!)"
    #expect(text.contains("has not said whether there is a topic \(topic)"), "\(text)")
    #expect(text.contains("REQUEST_TIMED_OUT") && !text.contains("create it"), "\(text)")
    fixture.broker?.setTopic(topic, fault: nil)
    #expect(try cluster.demand(topic, "create it") == 3)
    let missing = #expect(throws: ServiceFailure.self) {
      try cluster.demand("nowhere", "create it")
    }
    #expect(missing?.description == "there is no topic nowhere; create it")
  }
}
