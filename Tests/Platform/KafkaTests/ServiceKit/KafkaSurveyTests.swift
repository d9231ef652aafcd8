// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import Kafka
import TestSupport
import Testing

@testable import ServiceKit

/// The embedded broker has no authorizer; its answers can be made those of one.
@Suite(.serialized) struct KafkaSurveyTests {
  private func cluster(
    without missing: String? = nil, unset: String? = nil
  ) throws -> (KafkaFixture, TopicNames) {
    let fixture = try KafkaFixture(embedded: true)
    let names = TopicNames(prefix: fixture.prefix)
    for topic in names.all where topic.name != missing.map({ fixture.name($0) }) {
      let isSet = topic.name != unset.map { fixture.name($0) }
      try fixture.broker?.createTopic(
        .init(topic.name, partitions: Int(topic.partitions), settings: isSet ? topic.settings : []))
    }
    return (fixture, names)
  }

  private func troubles(_ findings: [Finding]) -> [Finding] {
    findings.filter { $0.status == .error }
  }

  @Test(arguments: KafkaUser.allCases)
  func `a right cluster: topics can be seen and read, the group used`(program: KafkaUser) throws {
    let (fixture, names) = try cluster()
    let (findings, facts) = KafkaSurvey.run(fixture.configuration, program, names)
    #expect(troubles(findings).isEmpty, "\(findings.map(\.text))")
    #expect(facts.brokers == 1)
    #expect(facts.group == (program.group == nil ? .unknown : .allowed))
    let rights = KafkaRights(of: program, names)
    for topic in rights.topics {
      let isRead = rights.readTopics.contains(topic)
      #expect(facts.topics[topic]?.read == (isRead ? .allowed : .unknown), "\(topic)")
    }
  }

  @Test func `a missing topic is named, and asking does not create it`() throws {
    let (fixture, names) = try cluster(without: "dead-letters")
    for _ in 0..<2 {
      let found = troubles(KafkaSurvey.run(fixture.configuration, .ingest, names).findings)
      #expect(found.map(\.place) == [names.deadLetters])
      #expect(found.first?.remedy.hasPrefix("martlet topics create") == true)
    }
  }

  @Test func `a table that is not compacted is an error that names the setting`() throws {
    let (fixture, names) = try cluster(unset: "invalid-tokens")
    let found = troubles(KafkaSurvey.run(fixture.configuration, .ingest, names).findings)
    #expect(found.map(\.place) == [names.invalidTokens])
    #expect(found.first?.remedy.hasSuffix("--add-config cleanup.policy=compact") == true)
  }

  @Test func `refusals of an authorizer: to see a topic, to read it, to use the group`() throws {
    let (fixture, names) = try cluster()
    let broker = try #require(fixture.broker)
    broker.setTopic(names.providerTokens, fault: .topicNotAuthorized)
    let unseen = troubles(KafkaSurvey.run(fixture.configuration, .signer, names).findings)
    #expect(unseen.map(\.place) == [names.providerTokens])
    #expect(
      unseen.first?.message
        == "this user may not see it: needs Read and Write on topic \(names.providerTokens)")
    broker.setTopic(names.providerTokens, fault: nil)

    broker.inject(Array(repeating: .groupNotAuthorized, count: 50), into: .findCoordinator)
    let group = troubles(KafkaSurvey.run(fixture.configuration, .signer, names).findings)
    #expect(group.map(\.place) == [names.group(.signer)])
    #expect(
      group.first?.remedy
        == "kafka-acls.sh --add --allow-principal User:martlet-signer --operation Read --group "
        + names.group(.signer))
    broker.clearFaults(of: .findCoordinator)
    #expect(troubles(KafkaSurvey.run(fixture.configuration, .signer, names).findings).isEmpty)
  }

  @Test func `a cluster asked for a topic by its name says why it does not list it`() throws {
    let (fixture, names) = try cluster()
    let admin = try KafkaAdmin(fixture.configuration)
    defer { admin.close() }
    #expect(admin.topicError(names.receipts, timeoutMilliseconds: 30_000) == nil)
    try #require(fixture.broker).setTopic(names.receipts, fault: .topicNotAuthorized)
    let error = try #require(admin.topicError(names.receipts, timeoutMilliseconds: 30_000))
    #expect(error.isOfAuthorization)
  }

  @Test func `no broker, and one that does not speak SASL: errors without the password`() throws {
    var nobody = KafkaConfiguration(bootstrap: "127.0.0.1:1", clientID: "test")
    let silent = KafkaSurvey.run(nobody, .sender, TopicNames()).findings
    #expect(silent.map(\.status) == [.error])
    #expect(silent.first?.place == "127.0.0.1:1")
    let (fixture, names) = try cluster()
    nobody = KafkaConfiguration(bootstrap: fixture.configuration.bootstrap, clientID: "test")
    nobody.common = [
      ("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "PLAIN"),
      ("sasl.username", "sender"), ("sasl.password", "correct-horse"),
    ]
    let plain = KafkaSurvey.run(nobody, .sender, names).findings
    #expect(plain.map(\.status) == [.error])
    #expect(!plain.map(\.text).joined().contains("correct-horse"))
  }
}
