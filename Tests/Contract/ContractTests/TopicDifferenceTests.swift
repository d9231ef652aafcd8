// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct TopicDifferenceTests {
  private let names = TopicNames()

  private func specification(_ name: String) throws -> TopicSpecification {
    try #require(names.all.first { $0.name == name })
  }

  /// The topic as `martlet topics create` makes it on three brokers.
  private func made(_ topic: TopicSpecification) -> TopicState {
    var settings = Dictionary(uniqueKeysWithValues: topic.settings.map { ($0.name, $0.value) })
    settings["min.insync.replicas"] = "2"
    return TopicState(partitions: Int(topic.partitions), copies: 3, settings: settings)
  }

  private func differences(
    _ name: String, _ change: (inout TopicState) -> Void
  ) throws -> [TopicDifference] {
    let topic = try specification(name)
    var state = made(topic)
    change(&state)
    return names.differences(of: names.all, from: [name: state])
  }

  private func harmful(_ name: String, _ setting: String, _ values: [String]) throws -> [String] {
    try values.filter { value in
      let found = try differences(name) { $0.settings![setting] = value }
      for difference in found {
        #expect(difference.property == .setting(setting) && difference.actual == value)
        #expect(difference.isHarmful && difference.topic == name)
        #expect(difference.remedy.hasSuffix("--add-config \(setting)=\(difference.wanted)"))
      }
      #expect(found.count <= 1)
      return !found.isEmpty
    }
  }

  @Test func `what topics create makes differs in nothing`() {
    let states = Dictionary(uniqueKeysWithValues: names.all.map { ($0.name, made($0)) })
    #expect(names.differences(of: names.all, from: states).isEmpty)
    #expect(names.differences(of: names.all, from: [:]).isEmpty)
  }

  @Test func `another cleanup policy is harmful, in whatever order it is spelled`() throws {
    let policies = ["delete", "compact", "compact,delete", "delete, compact"]
    #expect(
      try harmful("push.requests", "cleanup.policy", policies) == [
        "compact", "compact,delete", "delete, compact",
      ])
    #expect(
      try harmful("push.devices", "cleanup.policy", policies) == [
        "delete", "compact,delete", "delete, compact",
      ])
  }

  @Test func `a retention may be longer, and not shorter`() throws {
    let day: Int64 = 86_400_000
    let times = [-1, 0, day - 1, day, day + 1].map { "\($0)" }
    #expect(try harmful("push.requests", "retention.ms", times) == ["0", "\(day - 1)"])
    // A compacted topic has no retention of its own, and keeps tombstones for as long as the table says.
    #expect(try harmful("push.devices", "retention.ms", times).isEmpty)
    let week = 7 * day
    #expect(
      try harmful("push.devices", "delete.retention.ms", ["\(week - 1)", "\(week)", "\(week + 1)"])
        == ["\(week - 1)"])
    #expect(try harmful("push.requests", "delete.retention.ms", ["0"]).isEmpty)
  }

  /// A cluster's default applies to a topic that was made without the setting.
  @Test func `what a group has to read may have any size`() throws {
    let sizes = ["-1", "0", "1073741824"]
    for name in ["push.requests", "push.notifications.bulk", "push.feedback"] {
      #expect(try harmful(name, "retention.bytes", sizes) == ["0", "1073741824"])
    }
    for name in ["push.receipts", "push.devices"] {
      #expect(try harmful(name, "retention.bytes", sizes).isEmpty)
    }
  }

  @Test func `a topic takes the largest batches of producers`() throws {
    let sizes = ["262144", "999999", "1000000", "1048588"]
    for name in ["push.requests", "push.receipts", "push.devices"] {
      #expect(try harmful(name, "max.message.bytes", sizes) == ["262144", "999999"])
    }
  }

  @Test func `so many copies must have a record that one broker may be away, and not fewer`() throws
  {
    for (copies, harmful) in [(1, []), (2, [2]), (3, [1, 3]), (5, [1, 5])] {
      for count in 1...copies {
        let found = try differences("push.requests") { state in
          state.copies = copies
          state.settings!["min.insync.replicas"] = "\(count)"
        }
        #expect(found.isEmpty != harmful.contains(count), "\(count) of \(copies)")
      }
    }
  }

  @Test func `a number of partitions is a matter of taste where it need not be one`() throws {
    for (count, isMore) in [(11, false), (13, true)] {
      let found = try differences("push.requests") { $0.partitions = count }
      #expect(found.map(\.property) == [.partitions] && found.map(\.actual) == ["\(count)"])
      #expect(found.map(\.isHarmful) == [false])
      #expect(found[0].remedy.contains("cannot be taken away") == isMore)
    }
    for name in ["push.token-requests", "push.provider-tokens"] {
      #expect(try differences(name) { $0.partitions = 2 }.map(\.isHarmful) == [true])
    }
  }

  /// `--partitions` has no other number of them.
  @Test func `more partitions of the controls have a remedy that topics create takes`() throws {
    let found = try differences("push.controls") { $0.partitions = 3 }
    #expect(found.map(\.property) == [.partitions] && found.map(\.isHarmful) == [false])
    #expect(found.allSatisfy { !$0.remedy.contains("--partitions") })
  }

  @Test func `settings that cannot be read are not reported as different`() throws {
    #expect(try differences("push.devices") { $0.settings = nil }.isEmpty)
    #expect(try differences("push.devices") { $0.settings = [:] }.isEmpty)
    #expect(
      try differences("push.devices") {
        $0.settings = nil
        $0.partitions = 5
      }.count == 1)
  }
}
