// SPDX-License-Identifier: Apache-2.0

/// A topic as it is on a cluster.
public struct TopicState: Equatable, Sendable {
  public var partitions: Int
  /// The number of replicas of each partition.
  public var copies: Int
  /// The topic's settings by Kafka's names; nil if this user may not read them, or the broker has none.
  public var settings: [String: String]?

  public init(partitions: Int, copies: Int, settings: [String: String]?) {
    self.partitions = partitions
    self.copies = copies
    self.settings = settings
  }
}

/// A property of an existing topic that differs from what `martlet topics create` would have created.
public struct TopicDifference: Equatable, Sendable {
  public enum Property: Equatable, Sendable {
    case partitions
    /// A topic setting, by Kafka's name.
    case setting(String)
  }

  public let topic: String
  public let property: Property
  public let actual: String
  public let wanted: String
  /// The consequence of the difference.
  public let consequence: String
  /// The remedy: arguments for Kafka's own tools, or a description.
  public let remedy: String
  /// True if records may be lost, refused or misread because of it. Any other difference may be intended by the
  /// operator, such as more partitions.
  public let isHarmful: Bool
}

extension TopicSpecification {
  /// The differences of the topic from this specification that matter: another number of partitions, another cleanup
  /// policy, a shorter retention or a bounded size, too few or too many in-sync replicas, batches that are refused. A
  /// longer retention does not count, nor do settings that only change how fast readers start.
  ///
  /// - Parameters:
  ///   - mustHaveOnePartition: whether any other number of partitions is harmful.
  ///   - isMadeWithOne: whether it is never created with another number of partitions.
  public func differences(
    from state: TopicState, mustHaveOnePartition: Bool, isMadeWithOne: Bool = false
  ) -> [TopicDifference] {
    // Settings that may not be read differ in nothing.
    let settings = state.settings ?? [:]
    let found = [
      difference(inPartitions: state.partitions, mustHaveOnePartition, isMadeWithOne),
      difference(inCleanup: settings),
      difference(
        inDuration: "retention.ms", settings, "records may be removed before they are read"),
      difference(inBytes: settings), difference(inBatches: settings),
      difference(
        inDuration: "delete.retention.ms", settings,
        "a reader that was away may miss that something was removed"),
      difference(
        inDuration: "min.compaction.lag.ms", settings,
        "compaction may remove a cancellation before the request that it concerns has come"),
      difference(inSync: settings, copies: state.copies),
    ]
    return found.compactMap(\.self)
  }

  private func difference(
    inPartitions actual: Int, _ mustBeOne: Bool, _ isMadeWithOne: Bool
  ) -> TopicDifference? {
    guard actual != Int(partitions) else { return nil }
    let (consequence, remedy): (String, String)
    if mustBeOne {
      consequence = "two signers would mint at the same time"
      remedy = "delete the topic and create it again with one partition"
    } else if isMadeWithOne {
      consequence = "what is written for different subjects is followed in any order"
      remedy =
        "note what martlet pause and martlet pace list, delete the topic, create it again with one partition, and set it"
        + " again"
    } else if actual < Int(partitions) {
      consequence = "fewer processes can share its work"
      remedy =
        "kafka-topics.sh --alter --topic \(name) --partitions \(partitions) while it is empty, or --partitions"
        + " if \(actual) is what you want"
    } else {
      consequence = "none if that is what you want"
      remedy = "pass --partitions; partitions cannot be taken away"
    }
    return TopicDifference(
      topic: name, property: .partitions, actual: "\(actual)", wanted: "\(partitions)",
      consequence: consequence, remedy: remedy, isHarmful: mustBeOne)
  }

  private func difference(inCleanup settings: [String: String]) -> TopicDifference? {
    guard let actual = settings["cleanup.policy"] else { return nil }
    let policies = Set(actual.split(separator: ",").map { $0.filter { $0 != " " } })
    guard policies != [cleanup.rawValue] else { return nil }
    let consequence =
      cleanup == .compact
      ? "the newest record of a key is removed with age"
      : "compaction removes records that were not read, and records without a key are refused"
    return altered(
      "cleanup.policy", actual: actual, wanted: cleanup.rawValue, consequence: consequence)
  }

  /// The difference of a time that must be at least the specification's; −1 means for ever.
  private func difference(
    inDuration setting: String, _ settings: [String: String], _ consequence: String
  ) -> TopicDifference? {
    guard let wanted = self.settings.first(where: { $0.name == setting })?.value,
      let least = Int64(wanted), let actual = settings[setting], let time = Int64(actual),
      time >= 0, time < least
    else { return nil }
    return altered(setting, actual: actual, wanted: wanted, consequence: consequence)
  }

  /// The difference of a log whose size is bounded, as by a cluster's default, although a group has to read all of it.
  private func difference(inBytes settings: [String: String]) -> TopicDifference? {
    let setting = "retention.bytes"
    guard cleanup == .delete, readerGroup != nil, let actual = settings[setting],
      let bytes = Int64(actual), bytes >= 0
    else { return nil }
    return altered(
      setting, actual: actual, wanted: "-1",
      consequence: "records may be removed before they are read, however young they are")
  }

  private func difference(inBatches settings: [String: String]) -> TopicDifference? {
    let setting = "max.message.bytes"
    guard let actual = settings[setting], let bytes = Int64(actual), bytes < Self.largestBatch
    else { return nil }
    return altered(
      setting, actual: actual, wanted: "1048588",
      consequence:
        "the records of larger batches are written one by one, and larger records are refused")
  }

  /// librdkafka's `batch.size` and `message.max.bytes`.
  private static let largestBatch: Int64 = 1_000_000

  private func difference(inSync settings: [String: String], copies: Int) -> TopicDifference? {
    let setting = "min.insync.replicas"
    guard copies > 0, let actual = settings[setting], let count = Int(actual) else { return nil }
    let wanted = TopicReplication(asked: copies, brokers: copies).inSync
    guard count < wanted || (count > wanted && count >= copies) else { return nil }
    return altered(
      setting, actual: actual, wanted: "\(wanted)",
      consequence: count < wanted
        ? "an acknowledged record may be on one disk only"
        : "nothing can be written while a broker is away")
  }

  /// The assignment for Kafka's tool, which requires that the shortest compaction lag is not above the longest one.
  private func assignment(_ setting: String, _ wanted: String) -> String {
    let others = settings.filter {
      setting == "min.compaction.lag.ms" && $0.name == "max.compaction.lag.ms"
    }
    return (others.map { "\($0.name)=\($0.value)" } + ["\(setting)=\(wanted)"])
      .joined(separator: ",")
  }

  private func altered(
    _ setting: String, actual: String, wanted: String, consequence: String
  ) -> TopicDifference {
    TopicDifference(
      topic: name, property: .setting(setting), actual: actual, wanted: wanted,
      consequence: consequence,
      remedy:
        "kafka-configs.sh --alter --entity-type topics --entity-name \(name) --add-config"
        + " \(assignment(setting, wanted))",
      isHarmful: true)
  }
}

extension TopicNames {
  /// True if a topic must have exactly one partition: its owner is the only signer that mints, and provider tokens have
  /// its order.
  public func mustHaveOnePartition(_ topic: String) -> Bool {
    topic == providerTokens || topic == tokenRequests
  }

  /// True if `martlet topics create` makes a topic with one partition, whatever an operator asks for.
  public func isMadeWithOnePartition(_ topic: String) -> Bool {
    mustHaveOnePartition(topic) || topic == controls
  }

  /// True if a topic must keep its number of partitions: of a key that moves, the former partition keeps what was the
  /// newest record, and those who follow the topic read the partitions that it had when they started.
  public func mustKeepPartitions(_ topic: String) -> Bool {
    mustHaveOnePartition(topic) || all.contains { $0.name == topic && $0.cleanup == .compact }
  }

  /// The differences of these existing topics from the table, in its order.
  ///
  /// - Parameter topics: the table, with the operator's partition counts.
  public func differences(
    of topics: [TopicSpecification], from states: [String: TopicState]
  ) -> [TopicDifference] {
    topics.flatMap { topic in
      states[topic.name].map {
        topic.differences(
          from: $0, mustHaveOnePartition: mustHaveOnePartition(topic.name),
          isMadeWithOne: isMadeWithOnePartition(topic.name))
      } ?? []
    }
  }
}
