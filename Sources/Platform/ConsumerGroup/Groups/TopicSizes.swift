// SPDX-License-Identifier: Apache-2.0

public struct TopicChange: Equatable, Sendable {
  public let topic: String
  public let from: Int
  /// 0: the topic was deleted.
  public let to: Int

  public init(_ topic: String, from: Int, to: Int) {
    self.topic = topic
    self.from = from
    self.to = to
  }
}

/// The last known partition count of each topic. Reports each change once.
public struct TopicSizes: Sendable {
  /// The number of listings that must lack a topic before it counts as deleted: a listing omits a topic whose leader is
  /// being elected.
  private static let patience = 2

  private var counts: [String: Int]
  private var missing: [String: Int] = [:]

  /// - Parameter counts: the partition counts of the topics to follow, as the service found them.
  public init(_ counts: [String: Int]) { self.counts = counts }

  /// Takes a listing of the cluster's topics; returns the changes, by topic.
  ///
  /// - Parameter unknown: topics of which the listing does not tell whether they exist: this user may not see them, or
  ///   no broker answered for them.
  public mutating func observe(
    _ listing: [String: Int], unknown: Set<String> = []
  ) -> [TopicChange] {
    var changes: [TopicChange] = []
    for (topic, known) in counts.sorted(by: { $0.key < $1.key }) where !unknown.contains(topic) {
      guard let count = listing[topic] else {
        missing[topic, default: 0] += 1
        guard missing[topic] == Self.patience, known > 0 else { continue }
        changes.append(TopicChange(topic, from: known, to: 0))
        counts[topic] = 0
        continue
      }
      missing[topic] = nil
      guard count != known else { continue }
      changes.append(TopicChange(topic, from: known, to: count))
      counts[topic] = count
    }
    return changes
  }
}
