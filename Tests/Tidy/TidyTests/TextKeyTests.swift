// SPDX-License-Identifier: Apache-2.0
import Testing

/// Texts from outside are compared by their bytes: where one is a key or a member of a set, it is an `ExactText`.
///
/// A table whose keys are the product's own words, or texts that a rule keeps to ASCII, stands in `own`, with the rule.
@Suite struct TextKeyTests {
  private static let own: [(paths: [String], reason: String)] = [
    (
      [
        "Core/ConsumerGroup/Groups/TopicSizes", "Core/Contract/TopicDifference",
        "Core/DeviceTokens/ChangelogPosition", "Core/Diagnosis/KafkaFindings",
        "Core/Diagnosis/KafkaRight", "Core/Diagnosis/KafkaStatistics",
        "Core/Diagnosis/StrandedClients", "IO/Kafka/", "IO/Store/TokenStore",
        "Services/CommandKit/PartitionCounts", "Services/Feedback/DeviceTables",
        "Services/Ingest/IngestOutput", "Services/OperatorCommand/DeadLetterReplayer",
        "Services/OperatorCommand/ReplayProducer",
        "Services/OperatorCommand/Receipts/ReceiptReplay",
        "Services/OperatorCommand/Trace/TraceSearch", "Services/Sender/CoverageWarning",
        "Services/ServiceKit/ClusterView", "Services/ServiceKit/GroupFigures",
        "Services/ServiceKit/KafkaSurvey", "Services/ServiceKit/PartitionWatch",
        "Services/ServiceKit/TopicCheck",
      ], "names of Kafka's topics, groups, brokers and properties, which Kafka keeps to ASCII"
    ),
    (
      [
        "Core/Settings/", "Core/Telemetry/", "Services/OperatorCommand/Campaign/CampaignStatus",
        "Services/OperatorCommand/Status/", "Services/ServiceKit/CounterBoard",
        "Services/ServiceKit/ProcessEnvironment",
      ], "names of settings and metrics, and texts of messages"
    ),
    (
      ["Core/HTTP1/", "IO/TLS/"],
      "host names, fingerprints and names of HTTP fields and arguments, which stand for no identity"
    ),
    (
      [
        "Core/Diagnosis/CredentialFindings", "Core/Gateways/Credentials/",
        "Services/OperatorCommand/CurrentProviderToken", "Services/Sender/LoopStatus",
        "Services/Sender/ProviderTokenFeed", "Services/Signer/",
      ],
      "ids of credentials, teams and keys, and apps of credentials: `ProviderTokenRecord.isName`, `AppClaims`"
    ),
    (
      [
        "Services/OperatorCommand/Doctor/DoctorVisit", "Services/Sender/Certificate",
        "Services/Sender/SenderService+Check", "Services/ServiceKit/FileWatch",
        "Services/ServiceKit/ReloadStatus", "Services/ServiceKit/ServiceContext",
      ], "paths of files, and names of programs"
    ),
    (
      [
        "Services/OperatorCommand/DeadLetterCommands", "Services/OperatorCommand/DeadLetterFilter",
        "Services/OperatorCommand/Trace/TraceHop",
      ], "places of records: topic, partition and offset"
    ),
    (
      ["IO/Compatibility/Gorush/"], "names of members of gorush's requests"
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
    let rooms = ["Sources/Core/", "Sources/IO/", "Sources/Services/"]
    for path in repository.swiftPaths where rooms.contains(where: path.hasPrefix) {
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
