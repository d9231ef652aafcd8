// SPDX-License-Identifier: Apache-2.0
import Contract
import Settings
import Telemetry
import TestSupport
import Testing

@testable import Kafka
@testable import OperatorCommand
@testable import ServiceKit

@Suite struct TopicsCheckTests {
  @Test func `each topic has a line that says what is wrong and what to do`() {
    let names = TopicNames(prefix: "a.")
    let topics = names.all.filter {
      ["a.requests", "a.devices", "a.feedback", "a.receipts"].contains($0.name)
    }
    let size = TopicSize(partitions: 4, copies: 1)
    let check = TopicCheck(
      topics, of: names,
      ["a.requests": TopicSize(partitions: 12, copies: 1), "a.devices": size, "a.feedback": size],
      [
        "a.requests": ["cleanup.policy": "delete", "retention.ms": "86400000"],
        "a.devices": ["cleanup.policy": "delete"],
      ])
    #expect(
      TopicsCheckCommand.lines(topics, check) == [
        "ok       a.requests", "MISSING  a.receipts: martlet topics create creates it",
        "UNKNOWN  a.feedback: this user may not read its settings (DescribeConfigs)",
        "DIFFERS  a.devices: cleanup.policy is delete, not compact: the newest record of a key is removed with age;"
          + " kafka-configs.sh --alter --entity-type topics --entity-name a.devices --add-config"
          + " cleanup.policy=compact",
      ])
  }

  @Test func `topics whose settings cannot be read are not called correct`() {
    let names = TopicNames()
    let topics = names.all.filter { $0.name == names.feedback }
    let sizes = [names.feedback: TopicSize(partitions: 4, copies: 1)]
    func problem(_ settings: [String: [String: String]]) -> String? {
      TopicsCheckCommand.problem(TopicCheck(topics, of: names, sizes, settings), of: 1)
    }
    let settings = ["cleanup.policy": "delete", "retention.ms": "604800000"]
    #expect(problem([names.feedback: settings]) == nil)
    #expect(problem([:])?.hasPrefix("1 of 1 topics cannot be checked") == true)
    #expect(
      problem([names.feedback: ["cleanup.policy": "compact"]])
        == "1 of 1 topics are missing or differ")
  }

  @Test func `a topic that this user may not see is not called missing`() {
    let names = TopicNames()
    let topics = names.all.filter { [names.requests, names.devices].contains($0.name) }
    let check = TopicCheck(topics, of: names, [:], [:], hidden: [names.requests])
    #expect(
      TopicsCheckCommand.lines(topics, check) == [
        "UNKNOWN  push.requests: needs Describe and DescribeConfigs on topic push.requests"
          + " (TOPIC_AUTHORIZATION_FAILED)",
        "MISSING  push.devices: martlet topics create creates it",
      ])
  }

  @Test func `a topic that no broker has answered for is not called missing`() {
    let names = TopicNames()
    let topics = names.all.filter { [names.requests, names.devices].contains($0.name) }
    func check(hidden: Set<String>) -> TopicCheck {
      TopicCheck(
        topics, of: names, [:], [:], hidden: hidden, unknown: [names.requests, names.devices])
    }
    #expect(
      TopicsCheckCommand.lines(topics, check(hidden: [names.requests])) == [
        "UNKNOWN  push.requests: needs Describe and DescribeConfigs on topic push.requests"
          + " (TOPIC_AUTHORIZATION_FAILED)",
        "UNKNOWN  push.devices: no broker has said whether it exists; try again",
      ])
    #expect(
      TopicsCheckCommand.problem(check(hidden: []), of: 2)
        == "2 of 2 topics cannot be checked: no broker answered for them")
    #expect(
      TopicsCheckCommand.problem(check(hidden: [names.requests]), of: 2)
        == "2 of 2 topics cannot be checked: this user may not see them or read their settings, or no broker answered"
        + " for them")
  }
}
