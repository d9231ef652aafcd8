// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@testable import Kafka
@testable import ServiceKit

/// What stands on /metrics about a process's place in its group.
@Suite struct GroupFiguresTests {
  private let figures = GroupFigures()

  private func value(_ name: String) -> MetricValue? {
    figures.samples.first { $0.metric.name == name }?.value
  }

  @Test func `a program without a group shows nothing`() {
    figures.counted("t", 4)
    #expect(figures.samples.isEmpty)
  }

  @Test func `partitions of the group's topics are expected, and its own are assigned`() {
    figures.join("g", topics: ["t", "u"])
    for (topic, count) in [("t", 4), ("u", 3), ("other", 9)] { figures.counted(topic, count) }
    figures.assigned([TopicPartition(topic: "t", partition: 1)])
    #expect(value("martlet_kafka_group_partitions_expected") == .integer(7))
    #expect(value("martlet_kafka_group_partitions_assigned") == .integer(1))
    figures.counted("t", 6)
    figures.assigned([])
    #expect(value("martlet_kafka_group_partitions_expected") == .integer(9))
    #expect(value("martlet_kafka_group_partitions_assigned") == .integer(0))
  }

  @Test func `what an open transaction holds back is no lag, but shown`() {
    let partition = TopicPartition(topic: "t", partition: 3)
    figures.join("g", topics: ["t"])
    figures.assigned([partition])
    func look(end: Int64, stable: Int64, _ now: UInt64) -> GroupFigures.Held? {
      figures.take(
        [partition: PartitionLag(records: 0, end: stable)], of: [partition], [partition: end], now)
    }
    #expect(look(end: 10, stable: 10, 1_000) == nil)
    #expect(look(end: 12, stable: 10, 2_000)?.milliseconds == 0)
    let held = GroupFigures.Held(partition: partition, offset: 10, milliseconds: 10_000)
    #expect(look(end: 90, stable: 10, 12_000) == held)
    #expect(value("martlet_kafka_group_lag_records") == .integer(0))
    #expect(value("martlet_kafka_group_held_by_transaction_seconds") == .thousandths(10_000))
    #expect(look(end: 90, stable: 90, 22_000) == nil)
    #expect(value("martlet_kafka_group_held_by_transaction_seconds") == .thousandths(0))
  }

  /// Otherwise it would be said to have ended whenever a broker does not answer.
  @Test func `an open transaction is open until an answer says that it is not`() {
    let partition = TopicPartition(topic: "t", partition: 3)
    figures.join("g", topics: ["t"])
    figures.assigned([partition])
    #expect(figures.noAnswer(1_000) == nil)
    func look(stable: Int64, _ now: UInt64) -> GroupFigures.Held? {
      figures.take(
        [partition: PartitionLag(records: 0, end: stable)], of: [partition], [partition: 90], now)
    }
    #expect(look(stable: 10, 2_000)?.milliseconds == 0)
    let held = GroupFigures.Held(partition: partition, offset: 10, milliseconds: 3_000)
    #expect(figures.noAnswer(5_000) == held)
    // The group has given this process another partition while the brokers were asked.
    figures.assigned([partition, TopicPartition(topic: "t", partition: 4)])
    #expect(look(stable: 90, 5_000) == held)
    figures.assigned([])
    #expect(figures.noAnswer(6_000) == nil, "nobody here reads it any more")
    figures.assigned([partition])
    #expect(look(stable: 90, 7_000) == nil)
    #expect(figures.noAnswer(8_000) == nil)
  }

  @Test func `a transaction stays open when the partition of an older one is given away`() {
    let (one, two) = (
      TopicPartition(topic: "t", partition: 0), TopicPartition(topic: "t", partition: 1)
    )
    figures.join("g", topics: ["t"])
    figures.assigned([one, two])
    func look(_ stable: [TopicPartition: Int64], _ now: UInt64) -> GroupFigures.Held? {
      figures.take(
        stable.mapValues { PartitionLag(records: 0, end: $0) }, of: [one, two], [one: 90, two: 90],
        now)
    }
    #expect(look([one: 10, two: 90], 1_000)?.partition == one)
    #expect(look([one: 10, two: 20], 2_000)?.partition == one)
    figures.assigned([two])
    let held = GroupFigures.Held(partition: two, offset: 20, milliseconds: 3_000)
    #expect(look([one: 10, two: 20], 5_000) == held)
    #expect(figures.noAnswer(5_000) == held)
  }

  /// Whoever waits for it to come to 0 must not be shown what was true an hour ago.
  @Test func `a lag that is not known is not shown`() {
    let (one, two) = (
      TopicPartition(topic: "t", partition: 0), TopicPartition(topic: "t", partition: 1)
    )
    let other = TopicPartition(topic: "u", partition: 0)
    figures.join("g", topics: ["t", "u"])
    figures.assigned([one, two, other])
    func shown() -> [String: MetricValue] {
      let found = figures.samples.filter { $0.metric.name == "martlet_kafka_group_lag_records" }
      return Dictionary(uniqueKeysWithValues: found.map { ($0.labels[1], $0.value) })
    }
    func take(_ lag: [TopicPartition: Int64]) {
      _ = figures.take(
        lag.mapValues { PartitionLag(records: $0, end: 100) }, of: [one, two, other], [:], 1_000)
    }
    take([one: 1, two: 2, other: 3])
    #expect(shown() == ["t": .integer(3), "u": .integer(3)])
    // A partition has no leader.
    for _ in 1..<GroupFigures.patience { take([one: 1, other: 4]) }
    #expect(shown() == ["t": .integer(3), "u": .integer(4)])
    take([one: 1, other: 5])
    #expect(shown() == ["u": .integer(5)])
    take([one: 0, two: 0, other: 0])
    #expect(shown() == ["t": .integer(0), "u": .integer(0)])
    // No broker answers.
    for _ in 1..<GroupFigures.patience { _ = figures.noAnswer(2_000) }
    #expect(shown() == ["t": .integer(0), "u": .integer(0)])
    _ = figures.noAnswer(3_000)
    #expect(shown().isEmpty)
  }

  @Test func `a commit is timed once, and not if it is refused; its longest map is shown`() throws {
    figures.join("g", topics: ["t"])
    let partition = TopicPartition(topic: "t", partition: 0)
    figures.commitSent([], now: 50)
    figures.commitAnswered(now: 60, isTaken: true)
    figures.commitSent(
      [
        CommitRequest(partition, offset: 1, metadata: "12345"),
        CommitRequest(partition, offset: 1, metadata: nil),
      ], now: 100)
    figures.commitAnswered(now: 130, isTaken: true)
    figures.commitAnswered(now: 900, isTaken: true)
    figures.commitSent([CommitRequest(partition, offset: 1, metadata: "12345")], now: 1_000)
    figures.commitAnswered(now: 1_050, isTaken: false)
    figures.commitAnswered(now: 1_100, isTaken: true)
    guard case .histogram(let counts) = value("martlet_kafka_commit_seconds") else {
      throw MissingSeries()
    }
    #expect(counts.count == 1 && counts.sum == 30)
    #expect(value("martlet_kafka_commit_metadata_bytes") == .integer(5))
  }

  @Test func `a process in several groups shows each, and all follow the topics`() {
    figures.counted("t", 4)
    let groups = ["one", "two"].map { name in
      let further = figures.further()
      further.join(name, topics: ["t"])
      return further
    }
    figures.counted("t", 6)
    groups[1].assigned([TopicPartition(topic: "t", partition: 5)])
    #expect(figures.samples.isEmpty)
    let samples = groups.flatMap(\.samples)
    func values(_ name: String) -> [String: MetricValue] {
      let found = samples.filter { $0.metric.name == name }
      return Dictionary(uniqueKeysWithValues: found.map { ($0.labels[0], $0.value) })
    }
    #expect(
      values("martlet_kafka_group_partitions_expected") == ["one": .integer(6), "two": .integer(6)])
    #expect(
      values("martlet_kafka_group_partitions_assigned") == ["one": .integer(0), "two": .integer(1)])
  }

  private struct MissingSeries: Error {}
}
