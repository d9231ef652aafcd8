// SPDX-License-Identifier: Apache-2.0
import APNS
import Kafka
import Pipeline
import Records
import Testing

@testable import Sender

@Suite("Requests for provider tokens")
struct TokenRequestTests {
  private func request(_ number: Int) -> TokenRequest {
    TokenRequest(
      credential: nil, app: "app.\(number)", environment: .production, reason: "missing", at: 0)
  }

  @Test("a flood of apps that nobody has asks for so many, and is forgotten when its time is over")
  func bounded() throws {
    KafkaLog.silence()
    // Nobody listens there: the requests stay in the producer.
    let producer = try KafkaProducer(KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test"))
    let requests = try TokenRequests(producer, TopicNames())
    defer { requests.close() }
    for number in 0..<5_000 { requests.want(request(number), now: 1_000) }
    #expect(requests.remembered == TokenRequests.most)
    #expect(producer.outstanding == TokenRequests.most)
    requests.want(request(0), now: 10_999)
    requests.want(request(6_000), now: 10_999)
    #expect(producer.outstanding == TokenRequests.most, "neither the same nor another one")
    requests.want(request(6_000), now: 11_000)
    #expect(requests.remembered == 1)
    #expect(producer.outstanding == TokenRequests.most + 1)
  }
}
