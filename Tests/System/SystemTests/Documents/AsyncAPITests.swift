// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import TestSupport
import Testing

/// docs/asyncapi.json: an AsyncAPI 3 document of the topics that applications use.
@Suite struct AsyncAPITests {
  @Test func `the document is well formed and names topics as the table has them`() throws {
    let answer = try Documents.run(
      "check_asyncapi.py", ["--document", Repository.path("docs/asyncapi.json")],
      in: TemporaryFolder())
    let names = TopicNames()
    #expect(
      answer["topics"]?.array?.compactMap(\.string) == [
        names.requests, names.receipts, names.devices, names.invalidTokens, names.deadLetters,
      ])
    let channels = try RecordTable.parse(try Repository.text("docs/asyncapi.json"))["channels"]
    for member in try #require(channels?.object).members {
      let kafka = member.value["bindings"]?["kafka"]
      let topic = try #require(
        names.all.first { $0.name == member.value["address"]?.string }, "\(member.key)")
      #expect(kafka?["topic"]?.string == topic.name)
      #expect(kafka?["partitions"]?.int == Int64(topic.partitions))
      let isCompacted = kafka?["topicConfiguration"]?["cleanup.policy"] == ["compact"]
      #expect(isCompacted == (topic.cleanup == .compact), "\(topic.name)")
    }
  }
}
