// SPDX-License-Identifier: Apache-2.0

/// What can be known of the reason why Kafka acknowledges nothing, and what is said of it.
public struct WriteObstacle: Sendable {
  public struct Topic: Sendable {
    public var name: String
    /// The cluster's error for it; nil if it has none.
    public var error: String?
    public var partitions = 0
    public var leaderless = 0
    /// Partitions of which fewer brokers are in sync than a write needs, and the fewest that are.
    public var belowMinimum = 0
    public var fewestInSync = 0
    /// `min.insync.replicas`; nil where the cluster does not say.
    public var minimum: Int?

    public init(_ name: String) { self.name = name }

    var reason: String? {
      if let error { return "topic \(name): \(error)" }
      if leaderless > 0 {
        return
          "\(leaderless) of \(partitions) partitions of \(name) have no leader; start the brokers that have them"
      }
      guard belowMinimum > 0, let minimum else { return nil }
      return
        "\(belowMinimum) of \(partitions) partitions of \(name) have too few in-sync replicas (\(fewestInSync), and"
        + " min.insync.replicas is \(minimum)); start the brokers that are away"
    }
  }

  /// What Kafka answered about records, and the remedy.
  public var refusal: String?
  /// Why the cluster could not be asked.
  public var silence: String?
  public var topics: [Topic] = []
  /// A broker that has delayed its answers meanwhile, because a quota is used up.
  public var throttling: Int32?
  public var lastError: String?

  public init() {}

  /// The likeliest reason, in words.
  public var reason: String {
    if let refusal { return refusal }
    if let silence { return silence }
    if let reason = topics.lazy.compactMap(\.reason).first { return reason }
    if let throttling {
      return
        "broker \(throttling) delays its answers: the quota of this Kafka user or client is used up"
    }
    let rest =
      "the brokers can be reached, and the topics have their leaders and replicas: see the brokers' logs"
    return lastError.map { "\(rest); the last error of a connection was: \($0)" } ?? rest
  }
}
