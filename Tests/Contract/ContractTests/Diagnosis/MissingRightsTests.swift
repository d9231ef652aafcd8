// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What a running program says of rights that it lacks.
@Suite struct MissingRightsTests {
  private static let refused = "TOPIC_AUTHORIZATION_FAILED"

  private func missing(_ program: KafkaUser, user: String? = nil) -> MissingRights {
    MissingRights(KafkaRights(of: program, TopicNames()), user: user)
  }

  @Test func `a right is named with its operation, its resource and the command that grants it`() {
    var missing = missing(.sender, user: "push")
    let report = missing.refused(.read, .topic("push.controls"), error: Self.refused, now: 0)
    #expect(report?.right == "Read on topic push.controls")
    #expect(report?.error == Self.refused)
    #expect(
      report?.remedy
        == "kafka-acls.sh --add --allow-principal User:push --operation Read --operation DescribeConfigs"
        + " --topic push.controls")
    #expect(missing.obstacle == "needs Read on topic push.controls")
  }

  @Test func `a topic that may not be seen: every right that the program needs on it`() {
    var missing = missing(.sender)
    let report = missing.refused(.describe, .topic("push.retries.5s"), error: Self.refused, now: 0)
    #expect(report?.right == "Read and Write on topic push.retries.5s")
    let group = missing.refused(.read, .group("martlet-sender"), error: "GROUP", now: 0)
    #expect(group?.right == "Read on group martlet-sender")
    #expect(missing.obstacle == "needs Read and Write on topic push.retries.5s and 1 more")
  }

  @Test func `said at once, again after a minute, and once when it is granted`() {
    var missing = missing(.signer)
    let topic = KafkaRight.Resource.topic("push.provider-tokens")
    #expect(missing.allowed(.write, topic) == nil)
    #expect(missing.refused(.write, topic, error: Self.refused, now: 5) != nil)
    #expect(missing.refused(.write, topic, error: Self.refused, now: 60_004) == nil)
    #expect(missing.refused(.write, topic, error: Self.refused, now: 60_005) != nil)
    #expect(missing.allowed(.read, topic) == nil)
    let granted = missing.allowed(.write, topic)
    #expect(granted?.right == "Write on topic push.provider-tokens" && granted?.error == nil)
    #expect(missing.obstacle == nil && missing.allowed(.write, topic) == nil)
    #expect(missing.refused(.write, topic, error: Self.refused, now: 60_006) != nil)
  }

  @Test func `what nobody has tried since is neither missing nor granted`() {
    var missing = missing(.api)
    let topic = KafkaRight.Resource.topic("push.devices")
    missing.forget(.write, topic)
    #expect(missing.refused(.write, topic, error: Self.refused, now: 5) != nil)
    missing.forget(.read, topic)
    #expect(missing.obstacle != nil)
    missing.forget(.write, topic)
    #expect(missing.obstacle == nil && missing.allowed(.write, topic) == nil)
  }

  @Test func `a group of an endpoint is granted by how its name begins`() {
    var missing = missing(.webhooks)
    let report = missing.refused(
      .read, .group("martlet-webhooks.shop"), error: "GROUP_AUTHORIZATION_FAILED", now: 0)
    #expect(report?.right == "Read on group martlet-webhooks.shop")
    #expect(
      report?.remedy.hasSuffix("--group martlet-webhooks --resource-pattern-type prefixed") == true)
  }

  @Test func `topics that a process uses by its settings, and those that it does not`() {
    let names = TopicNames()
    let feedback = KafkaRights(of: .feedback, names, reading: ["push.receipts"])
    #expect(feedback.readTopics.contains("push.receipts"))
    let webhooks = KafkaRights(of: .webhooks, names) { $0 != "push.devices" }
    #expect(webhooks.topics == ["push.receipts", "push.invalid-tokens", "push.dead-letters"])
  }
}
