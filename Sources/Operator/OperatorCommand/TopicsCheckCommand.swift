// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Settings

/// `martlet topics check`: checks the topics of a cluster against what Martlet needs.
enum TopicsCheckCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var topics: [TopicSpecification] = []
    var cluster = ClusterSettings()
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    fileprivate var lanes = Lanes.standard
    @Declared(PartitionCounts.setting) private var partitions: [String]

    var names: TopicNames { TopicNames(prefix: cluster.names.prefix, lanes: lanes) }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-topics")
      lanes = try Lanes(values)
      topics = try PartitionCounts.specifications(names, values)
    }
  }

  static let name = "topics check"
  static let summary =
    "Compares the topics of a Kafka cluster with what martlet topics create creates: partitions, cleanup.policy,"
    + " retention.ms, retention.bytes, max.message.bytes, delete.retention.ms, min.compaction.lag.ms and"
    + " min.insync.replicas. Exits with status 1 if one is missing, differs or cannot be checked. Changes nothing."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    let check = try orFail {
      try TopicCheck(
        settings.topics, of: settings.names, cluster.admin, timeoutMilliseconds: 10_000)
    }
    for line in lines(settings.topics, check) { StandardOutput.line(line) }
    if let problem = Self.problem(check, of: settings.topics.count) {
      throw ServiceFailure(problem)
    }
  }

  /// Why the topics are not known to be correct; nil if they are.
  static func problem(_ check: TopicCheck, of count: Int) -> String? {
    let bad = Set(check.differences.map(\.topic)).count + check.missing.count
    if bad > 0 { return "\(bad) of \(count) topics are missing or differ" }
    let unseen = check.hidden.count + check.unreadable.count
    let unknown = unseen + check.unanswered.count
    guard unknown > 0 else { return nil }
    let causes = [
      unseen > 0 ? "this user may not see them or read their settings" : nil,
      check.unanswered.isEmpty ? nil : "no broker answered for them",
    ].compactMap(\.self)
    return "\(unknown) of \(count) topics cannot be checked: \(causes.joined(separator: ", or "))"
  }

  /// A line for each topic that is correct or missing, and one for each difference.
  static func lines(_ topics: [TopicSpecification], _ check: TopicCheck) -> [String] {
    topics.flatMap { topic in
      let found = check.differences.filter { $0.topic == topic.name }
      if check.missing.contains(topic.name) {
        return ["MISSING  \(topic.name): martlet topics create creates it"]
      }
      if check.hidden.contains(topic.name) {
        return [
          "UNKNOWN  \(topic.name): needs Describe and DescribeConfigs on topic \(topic.name)"
            + " (TOPIC_AUTHORIZATION_FAILED)"
        ]
      }
      if check.unanswered.contains(topic.name) {
        return ["UNKNOWN  \(topic.name): no broker has said whether it exists; try again"]
      }
      let differences = found.map {
        "DIFFERS  \(topic.name): \($0.property.name) is \($0.actual), not \($0.wanted): \($0.consequence);"
          + " \($0.remedy)"
      }
      if check.unreadable.contains(topic.name) {
        return differences + [
          "UNKNOWN  \(topic.name): this user may not read its settings (DescribeConfigs)"
        ]
      }
      return differences.isEmpty ? ["ok       \(topic.name)"] : differences
    }
  }
}
