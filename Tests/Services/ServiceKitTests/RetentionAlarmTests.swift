// SPDX-License-Identifier: Apache-2.0
import EmbeddedKafka
import EventLoop
import Kafka
import Settings
import Telemetry
import TestSupport
import Testing

@testable import ServiceKit

@Suite struct RetentionAlarmTests {
  private func context() throws -> ServiceContext {
    let table = SettingTable(CommonSettings.table(of: Reading.self).settings)
    let values = try table.read(CommandLineFlags([], for: table), environment: [:], file: nil)
    return ServiceContext(
      name: "test", log: Logger(service: "test", level: .error), values: values)
  }

  private enum Reading: Service {
    static let name = "reading"
    static let summary = "Reads."
    static let table = SettingTable([])
    static func settings(_ values: SettingValues) throws(SettingErrors) {}
    static func run(_ nothing: Void, _ context: ServiceContext) throws(ServiceFailure) {}
  }

  @Test func `a slow broker does not stop the reading, and its late answer counts`() throws {
    let fixture = try KafkaFixture(topics: [("slow", 12)], embedded: true)
    let partitions = (0..<12 as Range<Int32>).map {
      TopicPartition(topic: fixture.prefix + "slow", partition: $0)
    }
    let wakeup = Wakeup()
    let consumer = try KafkaGroupConsumer(
      fixture.configuration, group: fixture.prefix + "group", topics: [fixture.prefix + "slow"],
      wakeup: wakeup)
    defer { consumer.close() }
    let plan = GroupPlan(
      group: "group", topics: [], instanceID: nil, commitInterval: 100, rebalancePatience: 100,
      stopPatience: 100, cost: "reads them again")
    var alarm = try RetentionAlarm(context(), plan, fixture.configuration, wakeup: wakeup)
    defer { alarm.close() }
    let slowness: Int32 = 2_000
    fixture.broker!.setRoundTrip(milliseconds: slowness)
    // Their logs are empty: somebody has committed what is gone.
    for partition in partitions { alarm.assigned(partition, at: 5) }
    let begin = MonotonicClock.milliseconds()
    for _ in 0..<50 { #expect(alarm.turn(consumer).isEmpty) }
    #expect(MonotonicClock.milliseconds() - begin < UInt64(slowness))
    fixture.broker!.setRoundTrip(milliseconds: 0)
    var cut: Set<TopicPartition> = []
    #expect(
      eventually(withinMilliseconds: 20_000) {
        cut.formUnion(alarm.turn(consumer))
        return cut.count == partitions.count
      })
  }
}
