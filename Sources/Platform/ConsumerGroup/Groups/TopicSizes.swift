// SPDX-License-Identifier: Apache-2.0

/// A topic that has another number of partitions than it had.
public struct TopicChange: Equatable, Sendable {
  public let topic: String
  public let from: Int
  /// 0: the topic is gone.
  public let to: Int

  public init(_ topic: String, from: Int, to: Int) {
    self.topic = topic
    self.from = from
    self.to = to
  }
}

/// The number of partitions of each topic, as last seen. Tells each change once.
public struct TopicSizes: Sendable {
  /// Looks that a topic must be missing from before it counts as gone: a listing leaves out a topic whose
  /// leader is just being elected.
  private static let patience = 2

  private var counts: [String: Int]
  private var missing: [String: Int] = [:]

  /// - Parameter counts: of the topics that are followed, as the service found them.
  public init(_ counts: [String: Int]) { self.counts = counts }

  /// Takes a listing of the cluster's topics; returns what has changed, by topic.
  ///
  /// - Parameter hidden: topics that this user may not see: nothing is known of them.
  public mutating func observe(
    _ listing: [String: Int], hidden: Set<String> = []
  ) -> [TopicChange] {
    var changes: [TopicChange] = []
    for (topic, known) in counts.sorted(by: { $0.key < $1.key }) where !hidden.contains(topic) {
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
