// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import TestSupport
import Testing

/// Requests of campaigns: only the topic that the scheduler alone writes says what a request belongs to.
@Suite struct CampaignRequestTests {
  private static func request(_ more: String, token: String = IngestFixture.token) -> String {
    #"{"id":"campaign:sale","group":"sale","campaign":"sale","app":"com.example.app","payload":{"aps":{"alert":"x"}},"tokens":["\#(token)"]\#(more)}"#
  }

  @Test
  func `a request names its campaign on the scheduler's topic, and is refused elsewhere`() throws {
    let fixture = try IngestFixture()
    try fixture.produce(fixture.names.requests, Self.request(""))
    try fixture.produce(fixture.names.campaignRequests, Self.request(""))
    let ingest = try fixture.start()
    // Without a lane it is for the last one.
    let record = try #require(try fixture.read(fixture.names.notifications(.bulk), count: 1).first)
    #expect(record.value?.contains("\tgroup=sale\tcampaign=sale\n") == true)
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    let detail = letter.headers.first { $0.name == DeadLetterHeader.detail }
    #expect(
      detail.map { String(decoding: $0.value, as: UTF8.self) }?.hasPrefix(
        "campaign: is set by martlet-scheduler alone") == true)
    let receipt = try #require(try fixture.receipts(count: 1).first)
    #expect(receipt.outcome == .deadLettered && receipt.carried[.campaign] == nil)
    #expect(ingest.stop() == nil)
  }

  @Test func `with lanes of its own a cluster sends a campaign in the last of them`() throws {
    let lanes = try Lanes(
      ["codes", "news", "night"].map { Lanes.Rule($0, weight: 1, maxAge: 86_400_000) })
    let fixture = try IngestFixture()
    let names = TopicNames(prefix: fixture.kafka.prefix, lanes: lanes)
    for topic in names.notifications.dropFirst() {
      try fixture.kafka.createTopic(
        String(topic.dropFirst(fixture.kafka.prefix.count)), partitions: 2, compacted: false)
    }
    try fixture.produce(fixture.names.campaignRequests, Self.request(""))
    try fixture.produce(
      fixture.names.campaignRequests,
      Self.request(#","lane":"news""#, token: String(repeating: "cd", count: 32)))
    // What ingest refuses as a whole says whose it was.
    try fixture.produce(fixture.names.campaignRequests, Self.request(#","lane":"bulk""#))
    let ingest = try fixture.start(["--lanes", "codes:8:1h,news:4:1d,night:1"])
    let last = try #require(try fixture.read(names.notifications(lanes.last), count: 1).first)
    #expect(last.value?.hasPrefix("M2\tnight\t") == true)
    #expect(try fixture.read(names.notifications(lanes.find("news")!), count: 1).count == 1)
    let receipt = try #require(try fixture.receipts(count: 1).first)
    #expect(receipt.outcome == .deadLettered && receipt.carried[.campaign] == "sale")
    #expect(receipt.environment == .production && receipt.app == "com.example.app")
    #expect(receipt.detail?.hasPrefix("lane: ") == true)
    #expect(ingest.stop() == nil)
  }
}
