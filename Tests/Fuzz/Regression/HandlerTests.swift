// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Testing
import Waiting

/// Sequences of hostile records, without a fuzzer.
@Suite struct HandlerTests {
  /// The targets that work on the records of each topic as the programs do that read it.
  private static let handlers: [String: [String]] = {
    let names = TopicNames()
    var handlers = [
      names.requests: ["request-records", "foreign-requests", "operator-records"],
      names.campaignRequests: ["request-records", "operator-records"],
      names.receipts: [
        "scheduler-records", "webhook-records", "feedback-records", "operator-records",
      ],
      names.feedback: ["feedback-records", "operator-records"],
      names.devices: ["feedback-records", "webhook-records", "operator-records"],
      names.invalidTokens: ["feedback-records", "webhook-records", "operator-records"],
      names.providerTokens: ["signer-records"], names.tokenRequests: ["signer-records"],
      names.deadLetters: ["dead-letter", "operator-records"],
      names.controls: ["control-records", "scheduler-records"],
      names.schedule: ["scheduler-records"], names.audiences: ["scheduler-records"],
    ]
    for topic in names.notifications + names.retries {
      handlers[topic] = ["sender-records", "operator-records"]
    }
    return handlers
  }()

  /// The same by the kind of record that an error names.
  private static let kinds: [String: [String]] = [
    "receipt": ["receipt", "webhook-records"], "feedback": ["feedback", "feedback-records"],
    "device": ["device", "feedback-records"], "invalid token": ["device", "feedback-records"],
    "provider token": ["provider-token", "signer-records"],
    "token request": ["provider-token", "signer-records"],
    "schedule": ["schedule", "scheduler-records"], "campaign": ["campaign", "scheduler-records"],
    "audience": ["campaign", "scheduler-records"], "first": ["campaign", "scheduler-records"],
    "stop": ["campaign", "scheduler-records"], "progress": ["campaign", "scheduler-records"],
    "outcomes": ["campaign", "scheduler-records"], "rates": ["campaign", "scheduler-records"],
  ]

  /// The others are programs' readers of a few pieces of text, or have a target of their own form.
  private static let names = Set(handlers.values.joined()).filter { $0.hasSuffix("-records") }
    .union(["foreign-requests"])

  @Test
  func `each topic has targets that work on its records, and none is left of a topic that is gone`()
  {
    #expect(Set(Self.handlers.keys) == Set(TopicNames().all.map(\.name)))
    for name in Self.handlers.values.joined() { #expect(FuzzTarget.named(name) != nil, "\(name)") }
  }

  @Test func `each kind of record has its targets`() throws {
    let root = #filePath.split(separator: "/").dropLast(4).map { "/\($0)" }.joined()
    let folder = "\(root)/Sources/Contract/Records"
    var found: Set<String> = []
    for file in CorpusTests.files(folder) where file.hasSuffix(".swift") {
      let text = try File.text("\(folder)/\(file)")
      for mark in ["record: \"", "kind = \""] {
        for part in text.split(separator: mark, omittingEmptySubsequences: false).dropFirst() {
          found.insert(String(part.prefix { $0 != "\"" }))
        }
      }
    }
    #expect(found == Set(Self.kinds.keys))
    for name in Self.kinds.values.joined() { #expect(FuzzTarget.named(name) != nil, "\(name)") }
  }

  @Test(arguments: names.sorted())
  func `no number in a record stops what works on it`(_ name: String) throws {
    let target = try #require(FuzzTarget.named(name))
    for seed in 0..<150 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      let bytes = (0..<160).map { _ in UInt8(random.below(256)) }
      let found = bytes.withUnsafeBytes { target.violation($0) }
      #expect(found == nil, "\(name), seed \(seed): \(found ?? "")")
    }
  }
}
