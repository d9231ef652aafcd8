// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import Synchronization
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct ClusterWatchTests {
  private final class Heard: Sendable { let changes = Mutex<[TopicChange]>([]) }

  @Test
  func `a running service logs partitions that were added, and topics that are gone`() throws {
    let fixture = try KafkaFixture(topics: [("more", 4), ("fewer", 1), ("same", 2)])
    let context = try ServiceContext.test()
    let heard = Heard()
    // As the service found them when it started.
    let before = [fixture.name("more"): 2, fixture.name("fewer"): 12, fixture.name("same"): 2]
    try ClusterWatch.start(fixture.configuration, before, context, intervalMilliseconds: 20) {
      change in heard.changes.withLock { $0.append(change) }
    }
    #expect(eventually { heard.changes.withLock { $0.count } == 2 })
    context.signals.requestStop()
    #expect(
      Set(heard.changes.withLock { $0.map(\.topic) })
        == [fixture.name("more"), fixture.name("fewer")])
    #expect(
      heard.changes.withLock { $0.contains(TopicChange(fixture.name("more"), from: 2, to: 4)) })
  }

  private static let changes: [(Int, Int, String, ServiceKitLog)] = [
    (2, 4, "requests", .partitionsAdded), (2, 4, "notifications", .partitionsAdded),
    (2, 4, "devices", .partitionsAddedToTable), (2, 4, "schedule", .partitionsAddedToTable),
    (2, 4, "invalid-tokens", .partitionsAddedToTable), (1, 2, "controls", .partitionsAddedToTable),
    (1, 2, "provider-tokens", .partitionsAddedToTable),
    (1, 2, "token-requests", .partitionsAddedToTable), (4, 2, "devices", .topicRecreatedSmaller),
    (4, 0, "devices", .topicGone), (0, 4, "devices", .topicExistsAgain),
  ]

  @Test(arguments: changes)
  func `a topic of tables must keep its partitions, others may grow`(
    from: Int, to: Int, topic: String, event: ServiceKitLog
  ) {
    let change = TopicChange("push.\(topic)", from: from, to: to)
    #expect(ClusterWatch.event(change, of: TopicNames()) == event)
  }
}
