// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct TopicTableTests {
  @Test func `every log has a retention and every table compacts`() {
    for topic in TopicNames().all {
      let names = topic.settings.map(\.name)
      #expect(names.contains("retention.ms") == (topic.cleanup == .delete), "\(topic.name)")
      #expect(names.contains("max.compaction.lag.ms") == (topic.cleanup == .compact))
    }
  }

  @Test func `compaction leaves the schedule alone for as long as cancellations are kept`() throws {
    let names = TopicNames()
    let schedule = try #require(names.all.first { $0.name == names.schedule })
    let settings = Dictionary(uniqueKeysWithValues: schedule.settings.map { ($0.name, $0.value) })
    let least = try #require(settings["min.compaction.lag.ms"].flatMap { Int64($0) })
    let most = try #require(settings["max.compaction.lag.ms"].flatMap { Int64($0) })
    #expect(least == 86_400_000 && most > least)
    #expect(names.all.count { $0.compactionLag > 0 } == 1)
    for (value, count) in [("0", 1), ("86399999", 1), ("86400000", 0), ("-1", 0)] {
      var found = settings
      found["min.compaction.lag.ms"] = value
      let state = TopicState(partitions: 12, copies: 3, settings: found)
      let differences = schedule.differences(from: state, mustHaveOnePartition: false)
      #expect(differences.count == count && differences.allSatisfy(\.isHarmful), "\(value)")
      #expect(
        differences.allSatisfy {
          $0.remedy.hasSuffix("max.compaction.lag.ms=\(most),min.compaction.lag.ms=\(least)")
        })
    }
  }

  @Test func `three copies are made where there are brokers for them, and two must be in sync`() {
    #expect((1...4).map { TopicReplication(asked: 0, brokers: $0).copies } == [1, 2, 3, 3])
    #expect(TopicReplication(asked: 5, brokers: 3).copies == 5)
    #expect([1, 2, 3, 5].map { TopicReplication(asked: $0, brokers: 9).inSync } == [1, 1, 2, 2])
    #expect(TopicReplication(asked: 0, brokers: 0).copies == 1)
  }

  @Test
  func `the longest prefix makes names that Kafka takes, also of the lane with the longest name`()
    throws
  {
    let longest = String(repeating: "l", count: Lanes.longestName)
    let names = TopicNames(
      prefix: String(repeating: "p", count: TopicNames.longestPrefix),
      lanes: try Lanes(["a", longest].map { .init($0, weight: 1, maxAge: 3_600_000) }))
    #expect(names.all.map(\.name.utf8.count).max() == 249)
    #expect([ReaderGroup.feedback, .sender].allSatisfy { names.group($0).utf8.count <= 249 })
  }
}
