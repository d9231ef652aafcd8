// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import HTTPClient
import Kafka
import Records
import Settings
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

/// A producer whose records Kafka does not acknowledge: librdkafka repeats by itself and says nothing.
@Suite(.onOwnThread) struct ProducerWatchTests {
  private let context: ServiceContext
  private let server: StatusServer
  private let client = HTTPClient(timeoutMilliseconds: 30_000)

  init() throws {
    context = try .test("martlet-test")
    server = try StatusServer(Endpoint(host: "127.0.0.1", port: 0), context)
    context.reportReady()
  }

  private func readiness() throws -> String {
    let answer = try client.get(server.url + "/readyz")
    let reasons = try JSONDocument(answer.text).root["reasons"]?.array ?? []
    return reasons.isEmpty
      ? "\(answer.status)"
      : "\(answer.status) \(reasons.compactMap { $0["reason"]?.string }.joined(separator: ", "))"
  }

  private func metric(_ name: String) throws -> Double? {
    try MetricPage(client.get(server.url + "/metrics").text).values(name).first?.value
  }

  @Test
  func `a process is not ready from 10 s without an acknowledgement on, until it comes`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let producer = try KafkaProducer(fixture.configuration)
    var watch = ProducerWatch(context)
    let topic = try producer.topic(named: fixture.name("things"))
    // As of a broker with fewer replicas in sync than min.insync.replicas.
    fixture.broker!.inject(Array(repeating: .notEnoughReplicas, count: 10_000), into: .produce)
    #expect(isQueued(producer.produce(topic, key: nil, value: [1], tag: 1)))
    for second in 0...9 {
      _ = producer.drainDeliveries()
      watch.turn(producer, now: UInt64(second) * 1_000)
    }
    #expect(try readiness() == "200" && metric("martlet_kafka_unacknowledged_seconds") == 9)
    for second in 10...12 {
      _ = producer.drainDeliveries()
      watch.turn(producer, now: UInt64(second) * 1_000)
    }
    #expect(try readiness() == "503 Kafka has not acknowledged a record for 12 s")
    #expect(try metric("martlet_kafka_unacknowledged_seconds") == 12)
    fixture.broker!.clearFaults(of: .produce)
    expectEventually { !producer.drainDeliveries().isEmpty }
    watch.turn(producer, now: 13_000)
    #expect(try readiness() == "200" && metric("martlet_kafka_unacknowledged_seconds") == 0)
  }

  /// The producer has given it back, and so waits for nothing.
  @Test
  func `a record that Kafka refuses for good counts while its owner writes it again`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    let producer = try KafkaProducer(fixture.configuration)
    var watch = ProducerWatch(context)
    let refusal = ProducerTrouble(
      waiting: 1, topics: [fixture.name("things")],
      error: KafkaError(code: 87, message: "the broker refused a record"))
    for second in 0...12 {
      watch.turn(producer, now: UInt64(second) * 1_000, refusal: refusal)
      #expect(try metric("martlet_kafka_producers_refused") == 1)
    }
    #expect(try readiness() == "503 Kafka has not acknowledged a record for 12 s")
    watch.turn(producer, now: 13_000)
    #expect(try readiness() == "200" && metric("martlet_kafka_producers_refused") == 0)
  }

  @Test func `a producer that is gone with its owner does not count`() throws {
    let fixture = try KafkaFixture(topics: [("things", 1)], embedded: true)
    do {
      let producer = try KafkaProducer(fixture.configuration)
      var watch = ProducerWatch(context)
      let topic = try producer.topic(named: fixture.name("things"))
      fixture.broker!.setDown()
      #expect(isQueued(producer.produce(topic, key: nil, value: [1], tag: 1)))
      for second in 0...12 { watch.turn(producer, now: UInt64(second) * 1_000) }
      #expect(try readiness().hasPrefix("503"))
    }
    #expect(try readiness() == "200")
  }

  private func isQueued(_ result: ProduceResult) -> Bool {
    if case .queued = result { true } else { false }
  }
}
