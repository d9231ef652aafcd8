// SPDX-License-Identifier: Apache-2.0
import Testing

/// Texts from outside are compared by their bytes: where one is a key or a member of a set, it is an `ExactText`.
///
/// A table whose keys are the product's own words, or texts that a rule keeps to ASCII, stands in `own`, with the rule.
@Suite struct TextKeyTests {
  private static let own: [(paths: [String], reason: String)] = [
    (
      [
        "Platform/ConsumerGroup/Groups/TopicSizes", "Contract/Contract/TopicDifference",
        "Contract/Contract/DeviceTokens/ChangelogPosition",
        "Contract/Contract/Diagnosis/KafkaFindings",
        "Contract/Contract/Diagnosis/KafkaRight", "Contract/Contract/Diagnosis/KafkaStatistics",
        "Contract/Contract/Diagnosis/StrandedClients", "Platform/Kafka/",
        "Platform/Store/TokenStore",
        "Platform/ServiceKit/CommandKit/PartitionCounts", "Feedback/Feedback/DeviceTables",
        "Ingest/Ingest/IngestOutput", "Operator/OperatorCommand/DeadLetterReplayer",
        "Operator/OperatorCommand/ReplayProducer",
        "Operator/OperatorCommand/Receipts/ReceiptReplay",
        "Sender/Sender/CoverageWarning",
        "Platform/ServiceKit/ClusterView", "Platform/ServiceKit/GroupFigures",
        "Platform/ServiceKit/KafkaSurvey", "Platform/ServiceKit/ClusterWatch",
        "Platform/ServiceKit/TopicCheck",
      ], "names of Kafka's topics, groups, brokers and properties, which Kafka keeps to ASCII"
    ),
    (
      [
        "Platform/Settings/", "Platform/Telemetry/", "Platform/ServiceKit/CommandOverview",
        "Operator/OperatorCommand/Campaign/CampaignStatus",
        "Operator/OperatorCommand/Status/", "Platform/ServiceKit/CounterBoard",
        "Platform/ServiceKit/ProcessEnvironment",
      ], "names of settings and metrics, and texts of messages"
    ),
    (
      ["Platform/EventLoop/Resolver", "Platform/HTTP/HTTP1/", "Platform/Crypto/TLS/"],
      "host names, fingerprints and names of HTTP fields and arguments, which stand for no identity"
    ),
    (
      [
        "Contract/Contract/Diagnosis/CredentialFindings",
        "Contract/Contract/Credentials/", "Signer/SignerDecisions/",
        "Operator/OperatorCommand/CurrentProviderToken", "Sender/Sender/LoopStatus",
        "Sender/Sender/ProviderTokenFeed", "Signer/Signer/",
      ],
      "ids of credentials, teams and keys, and apps of credentials: `ProviderTokenRecord.isName`, `AppClaims`"
    ),
    (
      [
        "Operator/OperatorCommand/Doctor/DoctorVisit", "Sender/Sender/Certificate",
        "Sender/Sender/SenderService+Check", "Platform/ServiceKit/FileWatch",
        "Platform/ServiceKit/ReloadStatus", "Platform/ServiceKit/ServiceContext",
      ], "paths of files, and names of programs"
    ),
    (
      [
        "Operator/OperatorCommand/DeadLetterCommands", "Operator/OperatorCommand/DeadLetterFilter",
        "Operator/OperatorCommand/Trace/TraceHop",
      ], "places of records: topic, partition and offset"
    ),
    (
      [
        "Operator/OperatorCommand/Trace/TraceReader", "Operator/OperatorCommand/Trace/TraceSubject",
      ],
      "device tokens, as hexadecimal digits in lower case"
    ),
    (
      ["API/API/Compatibility/Gorush/"], "names of members of gorush's requests"
    ),
  ]

  private static let forbidden = ["Set<" + "String>", "Dictionary<" + "String", "Set<[" + "String"]

  /// The lines in which a text is a key or a member.
  private static func textKeys(_ lines: [Substring]) -> [String] {
    lines.map(String.init).filter { line in
      guard !line.drop(while: { $0 == " " }).hasPrefix("//") else { return false }
      return forbidden.contains { SourceRules.contains(line, $0) }
        || SourceRules.contains(line, "[" + "String: ")
    }
  }

  @Test func `no text from outside is a key of a table as String`() {
    let repository = Repository()
    var used: Set<String> = []
    for path in repository.swiftPaths
    where path.hasPrefix("Sources/") && !path.hasPrefix("Sources/Simulator/")
      && !path.hasPrefix("Sources/Demo/")
    {
      let found = Self.textKeys(repository.lines(path))
      guard !found.isEmpty else { continue }
      let prefix = Self.own.flatMap(\.paths).first { path.hasPrefix("Sources/\($0)") }
      if let prefix { used.insert(prefix) }
      #expect(prefix != nil, "\(path): use ExactText, or say in \(#fileID) why not: \(found)")
    }
    let unused = Self.own.flatMap(\.paths).filter { !used.contains($0) }
    #expect(unused.isEmpty, "no longer needed: \(unused)")
  }

  @Test func `the rule finds what it is to find`() {
    let lines: [Substring] = [
      "  var rows: [" + "String: Row] = [:]", "  var seen: Set<" + "String> = []",
      "  // [" + "String: Row]", "  var rows: [ExactText: Row] = [:]", "  var list: [String] = []",
    ]
    #expect(Self.textKeys(lines).count == 2)
  }
}
