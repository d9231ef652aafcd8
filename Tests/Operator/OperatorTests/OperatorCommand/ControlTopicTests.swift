// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import Glibc
import Kafka
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import OperatorCommand

/// `push.controls` as commands write it.
@Suite struct ControlTopicTests {
  @Test func `of a lane without a topic it is said that senders may ignore it`() throws {
    let fixture = try KafkaFixture(topics: [("notifications.bulk", 1)])
    let values = try PauseCommand.values([
      "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    let topic = try ControlTopic(values, clientID: "test")
    let cluster = try KafkaCluster(fixture.configuration, try PauseCommand.context(["x"]))
    #expect(topic.remark(onLane: "bulk", cluster).isEmpty)
    #expect(topic.remark(onLane: "transactional", cluster).isEmpty, "its topic has no name")
    let remark = topic.remark(onLane: "bulkk", cluster)
    #expect(remark.hasPrefix("; there is no topic \(fixture.name("notifications.bulkk")): "))
  }

  @Test func `a resume of what is not paused names what is, and no campaign that was cancelled`()
    throws
  {
    let fixture = try KafkaFixture(topics: [("controls", 1)])
    let records = [
      ("lane:bulk", #"{"paused":true}"#), ("a.b:production", #"{"paused":true}"#),
      ("campaign:sale:a.b:production", #"{"cancelled":true,"at":1}"#),
      ("pace:app:a.b:production", #"{"pace":"1/s"}"#),
    ]
    for (key, value) in records {
      try fixture.produce(fixture.name("controls"), key: key, value: value)
    }
    let context = try ResumeCommand.context([
      "a.c", "--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap,
    ])
    let failure = #expect(throws: ServiceFailure.self) {
      try ResumeCommand.run(ResumeCommand.settings(context.values), context)
    }
    #expect(
      "\(failure!)" == "a.c:production is not paused; paused: a.b:production, lane:bulk")
  }

  @Test func `what would narrow a pause or a pace and does not is refused`() throws {
    let kafka = ["--kafka", "127.0.0.1:1"]
    for lane in [["--lane", "bulk"], ["--lane", "bulk", "--environment", "sandbox"]] {
      let isRefused = (try? PauseCommand.settings(PauseCommand.values(kafka + lane))) == nil
      #expect(isRefused == (lane.count > 2))
    }
    for words in [
      ["lane", "bulk", "1/s", "--environment", "sandbox"],
      ["app", "a.b", "1/s", "--push-type", "alert"],
    ] {
      #expect(throws: SettingErrors.self) {
        try PaceCommand.settings(PaceCommand.values(words + kafka))
      }
      _ = try PaceCommand.settings(PaceCommand.values(Array(words.dropLast(2)) + kafka))
    }
  }

  @Test func `a group is that of the environment which is named`() throws {
    let pace = try #require(PaceRate("1/s"))
    let production = PaceSubject.group("a.b", .production, "sale")
    func subject(_ flags: [String]) throws -> PaceSubject {
      let values = try PaceCommand.values(["group", "sale", "--kafka", "127.0.0.1:1"] + flags)
      let target = try PaceTarget(["group", "sale"], PaceCommand.settings(values), values)
      return try target.subject(among: [production: pace])
    }
    #expect(try subject([]) == production)
    #expect(try subject(["--environment", "production"]) == production)
    #expect(throws: ServiceFailure.self) { try subject(["--environment", "sandbox"]) }
  }

  /// Senders follow it all the same.
  @Test func `a pause that cannot be read back is said to be written`() throws {
    let fixture = try KafkaFixture(topics: [("controls", 1)], embedded: true)
    let refusals = Array(repeating: EmbeddedBroker.Fault.topicNotAuthorized, count: 100_000)
    fixture.broker?.inject(refusals, into: .fetch)
    let flags = ["--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap]
    func failure<C: Command>(_ command: C.Type, _ words: [String]) throws -> String {
      let context = try command.context(words + flags)
      let failure = #expect(throws: ServiceFailure.self) {
        try command.run(command.settings(context.values), context)
      }
      return failure?.description ?? ""
    }
    let refusal = "this user may not read topic \(fixture.name("controls")): needs Read on it"
    let paused = try failure(PauseCommand.self, ["a.b"])
    #expect(paused.hasPrefix(refusal))
    #expect(paused.hasSuffix("; the pause of a.b:production is written"))
    let resumed = try failure(ResumeCommand.self, ["a.b"])
    #expect(resumed.hasPrefix(refusal) && resumed.hasSuffix("; nothing was changed"))
  }

  @Test func `a command that is interrupted says whether it has written`() throws {
    let fixture = try KafkaFixture(topics: [("controls", 1), ("schedule", 1)])
    let flags = ["--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap]
    let context = try PauseCommand.context(flags)
    let topic = try ControlTopic(context.values, clientID: "test")
    let cluster = try KafkaCluster(fixture.configuration, context)
    let lookup = try CampaignLookup(database: nil, topic.names.schedule, cluster, context)
    context.signals.requestStop(by: SIGINT)
    let after = #expect(throws: ServiceFailure.self) {
      try topic.isPaused(.lane("bulk"), cluster, context, done: "the pause is written")
    }
    let unread = "interrupted: \(topic.names.controls) was not read to its end"
    #expect(after?.description == "\(unread); the pause is written" && after?.status == 130)
    let before = #expect(throws: ServiceFailure.self) { try topic.paces(cluster, context) }
    #expect(before?.description == "\(unread); nothing was changed")
    let key = try #require(CampaignKey("campaign:sale:a.b:production"))
    let campaign = #expect(throws: ServiceFailure.self) {
      try lookup.wait(for: key, withinMilliseconds: 60_000, done: "it is written") { _ in false }
    }
    #expect(campaign?.description == "interrupted: it is written" && campaign?.status == 130)
  }
}
