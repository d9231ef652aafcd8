// SPDX-License-Identifier: Apache-2.0
public import Contract

public struct BrokerTopic: Sendable {
  public let name: String
  public let partitions: Int
  /// The topic's configuration, by Kafka's names.
  public let settings: [(name: String, value: String)]

  public init(_ name: String, partitions: Int, settings: [(name: String, value: String)] = []) {
    self.name = name
    self.partitions = partitions
    self.settings = settings
  }

  /// A topic of the pipeline, as required on any cluster.
  public init(_ topic: TopicSpecification) {
    self.init(topic.name, partitions: Int(topic.partitions), settings: topic.settings)
  }
}
