// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import Sender

/// Requests for provider tokens.
@Suite struct TokenRequestTests {
  private func request(_ number: Int) -> TokenRequest {
    TokenRequest(
      credential: nil, app: "app.\(number)", environment: .production, reason: "missing", at: 0)
  }

  @Test
  func `a request that Kafka does not take is counted, and arrives when Kafka takes it`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let names = TopicNames(prefix: fixture.prefix)
    try fixture.createTopic("token-requests", partitions: 1)
    fixture.broker!.inject(Array(repeating: .topicNotAuthorized, count: 2), into: .produce)
    let context = try SenderService.context()
    let requests = try TokenRequests(fixture.configuration, names, context, wakeup: Wakeup())
    defer { requests.close() }
    requests.want(request(1))
    expectEventually {
      requests.turn()
      return context.counters.sums.contains { $0.name == "refused_by_kafka" && $0.value == 2 }
    }
    try expectEventually {
      requests.turn()
      return try fixture.read(names.tokenRequests, count: 1, timeoutMilliseconds: 1_000).count == 1
    }
  }

  /// Without tokens a sender writes nothing else that would show it.
  @Test
  func `a request that Kafka refuses for good is told of until another one is taken`() throws {
    let fixture = try KafkaFixture(embedded: true)
    let names = TopicNames(prefix: fixture.prefix)
    try fixture.createTopic("token-requests", partitions: 1)
    // In its batch, and alone.
    fixture.broker!.inject([.invalidRecord, .invalidRecord], into: .produce)
    let context = try SenderService.context()
    let requests = try TokenRequests(fixture.configuration, names, context, wakeup: Wakeup())
    defer { requests.close() }
    func turn(_ now: UInt64) -> Int? {
      requests.turn(now: now)
      return context.counters.sums.first { $0.name == "producers_refused" }?.value
    }
    requests.want(request(1), now: 1_000)
    expectEventually {
      _ = turn(1_000)
      return requests.outstanding == 0
    }
    #expect(turn(20_999) == 1)
    #expect(turn(21_000) == 0, "nobody needs it any more")
    requests.want(request(1), now: 21_000)
    expectEventually {
      _ = turn(21_000)
      return requests.outstanding == 0
    }
    #expect(turn(21_000) == 0)
  }

  @Test
  func `a flood of unknown apps causes a bounded number of requests, and is dropped after a while`()
    throws
  {
    KafkaLog.silence()
    // Nobody listens there: the requests stay in the producer.
    let requests = try TokenRequests(
      KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test"), TopicNames(),
      SenderService.context(), wakeup: Wakeup())
    defer { requests.close() }
    for number in 0..<5_000 { requests.want(request(number), now: 1_000) }
    #expect(requests.remembered == TokenRequests.most)
    #expect(requests.outstanding == TokenRequests.most)
    requests.want(request(0), now: 10_999)
    requests.want(request(6_000), now: 10_999)
    #expect(requests.outstanding == TokenRequests.most, "neither the same nor another one")
    requests.want(request(6_000), now: 11_000)
    #expect(requests.remembered == 1)
    #expect(requests.outstanding == TokenRequests.most + 1)
    // They are asked for at different times, so some are forgotten earlier than others.
    for number in 0..<2_000 { requests.want(request(number), now: 12_000 + UInt64(number)) }
    #expect(requests.remembered == TokenRequests.most)
    requests.want(request(7_000), now: 21_000)
    #expect(requests.remembered == TokenRequests.most)
  }
}
