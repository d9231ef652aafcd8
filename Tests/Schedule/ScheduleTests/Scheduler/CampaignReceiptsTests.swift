// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Synchronization
import TestSupport
import Testing

@testable import Scheduler

/// The thread that counts the receipts of campaigns.
@Suite struct CampaignReceiptsTests {
  private final class Known: Sendable { let partitions = Mutex(1) }

  /// docs/operations.md: the topic may grow.
  @Test func `outcomes in partitions that are added meanwhile are counted, and none twice`() throws
  {
    let fixture = try KafkaFixture(topics: [("receipts", 1)], embedded: true)
    let topic = fixture.name("receipts")
    let (first, second) = (try CampaignTests.campaign("a"), try CampaignTests.campaign("b"))
    let known = Known()
    let context = try ServiceContext.test()
    let receipts = try CampaignReceipts.start(fixture.configuration, topic, context.log) {
      known.partitions.withLock { $0 }
    }
    defer { receipts.close() }
    func counted(_ campaign: CampaignRecord) -> Int {
      receipts.current[campaign.key]?.outcomes[.delivered] ?? 0
    }
    receipts.follow([first.key: .init(first)])
    try fixture.produce(topic, key: "0", value: CampaignTests.line("a"))
    expectEventually { counted(first) == 1 }
    try fixture.broker?.grow(topic: topic, to: 3)
    let producer = try KafkaProducer(fixture.configuration)
    defer { producer.close() }
    let handle = try producer.topic(named: topic)
    let places = try (1...20).map { number in
      let lines = CampaignTests.line("a") + "\n" + CampaignTests.line("b")
      return try fixture.produce(producer, handle, key: "\(number)", value: lines).partition
    }
    #expect(Set(places) == [0, 1, 2])
    // Its past is read while the added partitions are not known yet.
    receipts.follow([first.key: .init(first), second.key: .init(second)])
    let old = places.filter { $0 == 0 }.count
    expectEventually { counted(first) == 1 + old && counted(second) == old }
    known.partitions.withLock { $0 = 3 }
    expectEventually { counted(first) >= 21 && counted(second) >= 20 }
    #expect(counted(first) == 21 && counted(second) == 20)
    let keys = [first.key, second.key]
    expectEventually { keys.allSatisfy { receipts.current[$0]?.isCaughtUp == true } }
  }

  /// Retention may be shorter than the scheduler is behind.
  @Test func `records that are removed before they are read are noticed`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)], embedded: true)
    let topic = fixture.name("receipts")
    let campaign = try CampaignTests.campaign("a")
    let receipts = try CampaignReceipts.start(
      fixture.configuration, topic, ServiceContext.test().log
    ) { 1 }
    defer { receipts.close() }
    receipts.follow([campaign.key: .init(campaign)])
    try fixture.produce(topic, key: "0", value: CampaignTests.line("a"))
    expectEventually { receipts.current[campaign.key]?.outcomes[.delivered] == 1 }
    #expect(receipts.missed.load(ordering: .relaxed) == 0)
    let faults = Array(repeating: EmbeddedBroker.Fault.notLeader, count: 100_000)
    let broker = try #require(fixture.broker)
    var next: Int64 = 1
    try expectEventually {
      // A fetch that is under way may still bring some of them.
      broker.inject(faults, into: .fetch)
      for number in 0..<10 { try fixture.produce(topic, key: "\(number)", value: "{}") }
      next += 10
      broker.dropRecords(of: topic, before: next - 1)
      broker.clearFaults(of: .fetch)
      return eventually(withinMilliseconds: 2_000) { receipts.missed.load(ordering: .relaxed) > 0 }
    }
  }

  /// A campaign may take longer than retention, and a scheduler may come late.
  @Test(
    arguments: [(8, 0, false), (8, 2, true), (6, 2, false)] as [(Int64, Int64, Bool)])
  func `records that were removed before the start are noticed, if they can be of the campaign`(
    _ days: Int64, _ removed: Int64, _ isNoticed: Bool
  ) throws {
    let fixture = try KafkaFixture(topics: [("receipts", 1)], embedded: true)
    let topic = fixture.name("receipts")
    for _ in 0..<3 { try fixture.produce(topic, key: "0", value: CampaignTests.line("a")) }
    let broker = try #require(fixture.broker)
    broker.dropRecords(of: topic, before: removed)
    let campaign = try CampaignTests.campaign(
      "a", at: WallClock.milliseconds() - days * 86_400_000)
    let receipts = try CampaignReceipts.start(
      fixture.configuration, topic, ServiceContext.test().log
    ) { 1 }
    defer { receipts.close() }
    receipts.follow([campaign.key: .init(campaign)])
    expectEventually {
      receipts.current[campaign.key]?.outcomes[.delivered] == 3 - Int(removed)
    }
    #expect(receipts.beginLate.load(ordering: .relaxed) == isNoticed)
  }
}
