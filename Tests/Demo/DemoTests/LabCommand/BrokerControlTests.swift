// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import HTTPClient
import HTTPServer
import Kafka
import Testing

@testable import LabCommand

@Suite struct BrokerControlTests {
  private let topics = TopicNames().all

  private func control(
    _ body: (EmbeddedBroker, _ put: (String, String) throws -> HTTPAnswer) throws -> Void
  ) throws {
    KafkaLog.silence()
    let broker = try EmbeddedBroker(
      topics.map { BrokerTopic($0.name, partitions: Int($0.partitions)) }, brokers: 2)
    let server = try BrokerControl(broker, topics).serve(host: "127.0.0.1", port: 0)
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    try withExtendedLifetime(server) {
      try body(broker) { path, text in
        let url = "http://127.0.0.1:\(server.port)\(path)"
        return path == "/errors"
          ? try client.post(url, Array(text.utf8)) : try client.put(url, Array(text.utf8))
      }
    }
  }

  @Test func `brokers go down and come back`() throws {
    try control { broker, put in
      let kafka = KafkaConfiguration(bootstrap: broker.bootstrap, clientID: "martlet-test")
      let down = try put("/brokers", #"{"up":false}"#)
      #expect(down.status == 200)
      let admin = try KafkaAdmin(kafka)
      defer { admin.close() }
      let whileDown = (try? admin.awaitAnswer(timeoutMilliseconds: 300)) != nil
      #expect(!whileDown)
      let up = try put("/brokers", #"{"up":true}"#)
      #expect(up.status == 200)
      let whileUp = (try? admin.awaitAnswer(timeoutMilliseconds: 30_000)) != nil
      #expect(whileUp)
    }
  }

  @Test func `leaders, coordinators and errors are taken`() throws {
    try control { _, put in
      for (path, text) in [
        ("/leaders", #"{"topic":"push.requests","broker":2}"#),
        ("/leaders", #"{"topic":"push.requests","partition":11,"broker":1}"#),
        ("/coordinators", #"{"group":"martlet-sender","broker":2}"#),
        ("/errors", #"{"request":"offset_commit","errors":["not_coordinator","disconnect"]}"#),
        ("/errors/clear", #"{"request":"offset_commit"}"#),
        ("/brokers", #"{"broker":2,"round_trip_ms":5}"#),
      ] {
        let answer = try put(path, text)
        #expect(answer.status == 200, "\(path) \(text)")
      }
    }
  }

  @Test func `a body that cannot be used is answered with the field`() throws {
    try control { _, put in
      for (path, text, field) in [
        ("/brokers", #"{"broker":3,"up":false}"#, "broker must be 1 to 2"),
        ("/brokers", #"{"round_trip_ms":-1}"#, "round_trip_ms"),
        ("/leaders", #"{"topic":"push.nothing","broker":1}"#, "topic"),
        ("/leaders", #"{"topic":"push.requests","partition":12,"broker":1}"#, "partition"),
        ("/leaders", #"{"topic":"push.requests"}"#, "broker is missing"),
        ("/coordinators", #"{"broker":1}"#, "group"),
        ("/errors", #"{"request":"produce","errors":["flood"]}"#, "errors"),
        ("/errors", #"{"request":"everything","errors":[]}"#, "request"),
        ("/brokers", "nonsense", "JSON"),
      ] {
        let answer = try put(path, text)
        #expect(answer.status == 400)
        let namesField = answer.text.contains(field)
        #expect(namesField, "\(path) \(text): \(answer.text)")
      }
    }
  }
}
