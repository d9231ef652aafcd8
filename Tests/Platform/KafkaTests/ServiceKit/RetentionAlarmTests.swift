// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import EmbeddedKafka
import EventLoop
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct RetentionAlarmTests {
  @Test func `a slow broker does not stop the reading, and its late answer counts`() throws {
    let fixture = try KafkaFixture(topics: [("slow", 12)], embedded: true)
    let partitions = (0..<12 as Range<Int32>).map {
      TopicPartition(topic: fixture.prefix + "slow", partition: $0)
    }
    let plan = GroupPlan(
      group: "group", topics: [], instanceID: nil, commitInterval: 100, rebalancePatience: 100,
      stopPatience: 100, cost: "reads them again")
    let alarm = try RetentionAlarm(.test(), plan, fixture.configuration, wakeup: Wakeup())
    defer { alarm.close() }
    let slowness: Int32 = 6_000
    fixture.broker!.setRoundTrip(milliseconds: slowness)
    let begin = MonotonicClock.milliseconds()
    alarm.ask(partitions)
    for _ in 0..<50 { #expect(alarm.drainAnswer() == nil) }
    #expect(MonotonicClock.milliseconds() - begin < UInt64(slowness))
    fixture.broker!.setRoundTrip(milliseconds: 0)
    var known: Set<TopicPartition> = []
    expectEventually {
      // What a broker did not answer in time is missing, and is asked for again.
      guard let ends = alarm.drainAnswer() else { return false }
      known.formUnion(ends.keys)
      if known.count < partitions.count { alarm.ask(partitions) }
      return known.count == partitions.count
    }
  }
}
