// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import Settings

/// Creates the topics of one benchmark on a cluster under a prefix of its own, and deletes them afterwards.
enum TopicsOfBenchmark: Service {
  struct Settings: DeclaredSettings {
    var kafka = KafkaConfiguration(bootstrap: "", clientID: "benchmark-topics")
    var topics: [TopicSpecification] = []
    @Declared(CommonSettings.kafka) private var bootstrap: [Endpoint]
    @Declared(CommonSettings.topicPrefix) private var topicPrefix: String
    @Declared(PartitionCounts.setting) private var partitions: [String]

    @Declared(.boolean("delete", "Delete the topics instead of creating them."))
    var deletes: Bool

    var names: TopicNames { TopicNames(prefix: topicPrefix) }

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      kafka = try KafkaConfiguration(values, clientID: "benchmark-topics")
      topics = try PartitionCounts.specifications(names, values)
    }
  }

  static let name = "topics"
  static let summary = "Creates the topics of a benchmark on a Kafka cluster, or deletes them."
  static let reportsCounters = false
  static let table = SettingTable(declaredBy: Settings.self, kafkaProperties: true)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let cluster = try KafkaCluster(settings.kafka, context)
    guard settings.names.prefix != TopicNames.defaultPrefix else {
      throw ServiceFailure("a benchmark's topics have a prefix of their own: --topic-prefix")
    }
    do throws(KafkaError) {
      try change(settings, cluster.admin)
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  private static func change(_ settings: Settings, _ admin: KafkaAdmin) throws(KafkaError) {
    let errors: [KafkaError?]
    if settings.deletes {
      errors = try admin.deleteTopics(settings.topics.map(\.name), timeoutMilliseconds: 60_000)
        .map(\.error)
    } else {
      let replication = TopicReplication(
        asked: 0, brokers: try admin.brokerCount(timeoutMilliseconds: 10_000))
      let topics = settings.topics.map { $0.kafka(replication: replication) }
      errors = try admin.createTopics(topics, timeoutMilliseconds: 60_000).map(\.error)
    }
    if let error = errors.compactMap({ $0 }).first { throw error }
  }
}
