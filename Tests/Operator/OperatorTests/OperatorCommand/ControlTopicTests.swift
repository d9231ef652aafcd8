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
}
