// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import Signer

@Suite(.serialized) struct SignerGroupTests {
  @Test
  func `a token that was withdrawn with a lost membership is minted by who owns the group then`()
    throws
  {
    let fixture = try SignerFixture(embedded: true)
    let broker = try #require(fixture.kafka.broker)
    broker.inject(Array(repeating: .topicNotAuthorized, count: 100_000), into: .produce)
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(eventually { signer.counter("refused_by_kafka") > 0 })
    // The group says that it went on without this signer, as after a session's time-out.
    broker.inject([.illegalGeneration], into: .heartbeat)
    #expect(eventually { signer.counter("assignments_lost") == 1 })
    broker.clearFaults(of: .produce)
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    #expect(eventually { signer.isOwner })
    // Kafka may have taken the token just before it was withdrawn: then it is found on the topic, and none is minted.
    #expect(signer.counter("minted") <= 1)
  }

  @Test func `of several partitions of requests only the first one's owner mints`() throws {
    let fixture = try SignerFixture(requestPartitions: 2, embedded: true)
    let first = try fixture.start()
    defer { first.stop() }
    let second = try fixture.start()
    defer { second.stop() }
    expectEventually { first.context.isReady && second.context.isReady }
    #expect(eventually { first.isOwner != second.isOwner })
    #expect(!eventually(withinMilliseconds: 2_000) { first.isOwner && second.isOwner })
  }

  @Test func `what ends a transaction is no request, and leaves the group without lag`() throws {
    let fixture = try SignerFixture(embedded: true)
    try fixture.kafka.endTransaction(on: fixture.names.tokenRequests)
    let signer = try fixture.start()
    defer { signer.stop() }
    #expect(try eventually { try fixture.committed() == 1 })
    #expect(signer.counter("requests") == 0)
  }

  @Test func `a request for a token is committed, and asked once`() throws {
    let fixture = try SignerFixture(embedded: true)
    let signer = try fixture.start()
    #expect(try fixture.tokens(atLeast: 1).count == 1)
    let producer = try KafkaProducer(fixture.kafka.configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: fixture.names.tokenRequests)
    for reason in [TokenRequest.probe, TokenRequest.missing] {
      let request = TokenRequest(
        credential: "TEAMTEAM01/KEYKEYKEY1/any", app: nil, environment: nil, reason: reason,
        at: WallClock.milliseconds())
      try fixture.kafka.produce(
        producer, topic, key: "x", value: String(decoding: request.value, as: UTF8.self))
    }
    #expect(try eventually { try fixture.committed() == 2 })
    signer.stop()
    #expect(signer.counter("requests") == 2)
    let next = try fixture.start()
    defer { next.stop() }
    #expect(eventually { next.isOwner })
    #expect(!eventually(withinMilliseconds: 500) { next.counter("requests") > 0 })
  }
}
