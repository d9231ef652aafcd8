// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Kafka

/// Compares the topics of a cluster with the table that `martlet topics create` makes them from.
public struct TopicCheck: Sendable {
  /// In the order of the table.
  public let differences: [TopicDifference]
  /// Topics of the table that the cluster does not have.
  public let missing: [String]
  /// Topics of the table that this user may not see: whether they exist is not known.
  public let hidden: [String]
  /// Topics of the table for which no broker answered: whether they exist is not known.
  public let unanswered: [String]
  /// Existing topics whose settings this user may not read.
  public let unreadable: [String]

  /// Asks the cluster.
  ///
  /// - Parameters:
  ///   - topics: the table, with the operator's partition counts.
  ///   - timeoutMilliseconds: for each of two requests.
  /// - Throws: when no broker answers, or the cluster shows no settings.
  public init(
    _ topics: [TopicSpecification], of names: TopicNames, _ admin: KafkaAdmin,
    timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    let listing = try admin.topicListing(
      naming: topics.map(\.name), timeoutMilliseconds: timeoutMilliseconds)
    let sizes = listing.sizes
    let existing = topics.map(\.name).filter { sizes[$0] != nil }
    let settings =
      existing.isEmpty
      ? [:] : try admin.topicSettings(existing, timeoutMilliseconds: timeoutMilliseconds)
    self.init(
      topics, of: names, sizes, settings, hidden: Set(listing.hidden.keys),
      unknown: listing.unknown(among: topics.map(\.name)))
  }

  /// Compares with what is known of the cluster.
  ///
  /// - Parameter unknown: topics of which it is not known whether they exist; those of `hidden` may be among them.
  init(
    _ topics: [TopicSpecification], of names: TopicNames, _ sizes: [String: TopicSize],
    _ settings: [String: [String: String]], hidden: Set<String> = [], unknown: Set<String> = []
  ) {
    var states: [String: TopicState] = [:]
    for (topic, size) in sizes {
      states[topic] = TopicState(
        partitions: size.partitions, copies: size.copies, settings: settings[topic])
    }
    differences = names.differences(of: topics, from: states)
    self.hidden = topics.map(\.name).filter(hidden.contains)
    unanswered = topics.map(\.name).filter { unknown.contains($0) && !hidden.contains($0) }
    let unseen = hidden.union(unknown)
    missing = topics.map(\.name).filter { sizes[$0] == nil && !unseen.contains($0) }
    unreadable = topics.map(\.name).filter { sizes[$0] != nil && settings[$0] == nil }
  }

  /// Logs the differences that may cost records; what is a matter of taste is left to `martlet topics check`.
  public func report(_ log: Logger) {
    for difference in differences where difference.isHarmful {
      log(
        ServiceKitLog.topicDiffers,
        [
          "topic": difference.topic, "setting": difference.property.name,
          "value": difference.actual, "wanted": difference.wanted,
          "consequence": difference.consequence, "remedy": difference.remedy,
        ])
    }
  }
}

extension TopicDifference.Property {
  /// Kafka's word for it.
  public var name: String {
    switch self {
    case .partitions: "partitions"
    case .setting(let name): name
    }
  }
}
