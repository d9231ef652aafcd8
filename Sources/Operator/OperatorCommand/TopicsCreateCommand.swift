// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import Settings

/// `martlet topics create`: creates the topics on a real cluster.
enum TopicsCreateCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var topics: [TopicSpecification] = []
    var cluster = ClusterSettings()
    @Declared(CommonSettings.lanes) private var laneTexts: [String]
    fileprivate var lanes = Lanes.standard

    @Declared(PartitionCounts.setting) private var partitions: [String]

    @Declared(
      .integer(
        "replication", default: 0, in: 0...100,
        "Replicas per partition; 0 means three, or one per broker if there are fewer. With three, two must"
          + " have a record before it is acknowledged (min.insync.replicas), so nothing is lost when a broker"
          + " dies.")) var replication: Int

    @Declared(
      .boolean("dry-run", "Only print the list of topics, without connecting to the cluster."))
    var onlyShow: Bool

    var names: TopicNames { TopicNames(prefix: cluster.names.prefix, lanes: lanes) }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      cluster = try ClusterSettings(values, clientID: "martlet-topics")
      lanes = try Lanes(values)
      topics = try PartitionCounts.specifications(names, values)
    }
  }

  static let name = "topics create"
  static let summary =
    "Creates Martlet's topics on a Kafka cluster and reports which of them already exist."
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    if settings.onlyShow {
      let width = settings.topics.map(\.name.count).max() ?? 0
      for topic in settings.topics { StandardOutput.line(topic.row(width: width)) }
      return
    }
    let cluster = try KafkaCluster(settings.cluster.kafka, context)
    try orFail {
      try create(settings, cluster.admin)
      let brokers = try cluster.admin.brokers(timeoutMilliseconds: 10_000)
      let spread = TopicSpread(
        configuration: cluster.configuration, brokers: brokers, topics: settings.topics.map(\.name))
      if let lacking = spread.wait(timeLimit: TimeLimit(milliseconds: 10_000)) {
        throw ServiceFailure("not every broker has the topics yet: \(lacking)")
      }
    }
  }

  private static func create(_ settings: Settings, _ admin: KafkaAdmin) throws(KafkaError) {
    let existing = try admin.topicListing(
      naming: settings.topics.map(\.name), timeoutMilliseconds: 10_000
    ).sizes
    let missing = settings.topics.filter { existing[$0.name] == nil }
    for topic in settings.topics {
      guard let count = existing[topic.name]?.partitions else { continue }
      let note = count == Int(topic.partitions) ? "" : ", not \(topic.partitions)"
      StandardOutput.line("exists   \(topic.name) (\(count) partitions\(note))")
    }
    guard !missing.isEmpty else { return }
    let replication = TopicReplication(
      asked: settings.replication, brokers: try admin.brokerCount(timeoutMilliseconds: 10_000))
    let topics = missing.map { $0.kafka(replication: replication) }
    let results = try admin.createTopics(topics, timeoutMilliseconds: 30_000)
    var failure: KafkaError?
    for (topic, result) in zip(topics, results) {
      if let error = result.error {
        // The topic exists, but this user may not see it.
        let state = error.isTopicAlreadyThere ? "exists  " : "FAILED  "
        let remedy = error.remedyOfCreation.map { "; \($0)" } ?? ""
        StandardOutput.line("\(state) \(topic.name): \(error)\(remedy)")
        if !error.isTopicAlreadyThere { failure = failure ?? error }
      } else {
        StandardOutput.line("created  \(describe(topic))")
      }
    }
    if let failure { throw failure }
  }

  private static func describe(_ topic: KafkaTopicSpecification) -> String {
    let settings = topic.configuration.sorted { $0.key < $1.key }.map { ", \($0.key)=\($0.value)" }
    return "\(topic.name) (\(topic.partitions) partitions, \(topic.replication) copies"
      + settings.joined() + ")"
  }
}
