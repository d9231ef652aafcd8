// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit
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
    #expect(try topic.remark(onLane: "bulk", cluster).isEmpty)
    #expect(try topic.remark(onLane: "transactional", cluster).isEmpty, "its topic has no name")
    let remark = try topic.remark(onLane: "bulkk", cluster)
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
}
