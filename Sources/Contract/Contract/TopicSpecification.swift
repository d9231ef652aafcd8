// SPDX-License-Identifier: Apache-2.0

/// A topic as it is created: name, partitions, what becomes of old records, and who reads it.
public struct TopicSpecification: Equatable, Sendable {
  public enum Cleanup: String, Sendable {
    case delete
    case compact
  }

  public let name: String
  /// The default for one machine; the count is the user's.
  public var partitions: Int32
  public let cleanup: Cleanup
  /// The least time that a record is kept; nil for a compacted topic, which keeps the newest of each key.
  public let retentionMilliseconds: Int64?
  /// The consumer group that reads the topic to its end, if one does. What it has not committed must
  /// not be dropped.
  public let readerGroup: String?
  /// For how long compaction leaves a record alone that has a newer one of its key, in milliseconds; 0: for no time.
  public let compactionLag: Int64

  /// For how long a cancellation on `push.schedule` counts, in milliseconds: it also concerns a request that was written
  /// before it and comes after it. Compaction may not remove it in that time because the request has the same key.
  public static let cancellationKept: Int64 = 86_400_000

  public init(
    name: String, partitions: Int32, cleanup: Cleanup = .delete,
    retentionMilliseconds: Int64? = nil, readerGroup: String? = nil, compactionLag: Int64 = 0
  ) {
    self.compactionLag = compactionLag
    self.name = name
    self.partitions = partitions
    self.cleanup = cleanup
    self.retentionMilliseconds = retentionMilliseconds
    self.readerGroup = readerGroup
  }

  /// The topic's own settings on a Kafka cluster, beside those that hang on its replication, in Kafka's words.
  public var settings: [(name: String, value: String)] {
    var settings = [("cleanup.policy", cleanup.rawValue)]
    if let retentionMilliseconds { settings.append(("retention.ms", "\(retentionMilliseconds)")) }
    if cleanup == .compact {
      // Old values are dropped soon, so that readers start fast.
      settings.append(("segment.ms", "3600000"))
      // Kafka refuses a longest lag below the shortest one.
      settings.append(("max.compaction.lag.ms", "\(compactionLag + 21_600_000)"))
      if compactionLag > 0 { settings.append(("min.compaction.lag.ms", "\(compactionLag)")) }
      // A reader slower than this may miss that a token became valid again.
      settings.append(("delete.retention.ms", "604800000"))
    }
    return settings
  }

  /// The topic as a line of a list such as `deploy/topics.txt`: name, partitions, settings.
  ///
  /// - Parameters:
  ///   - prefix: what the name is printed without.
  ///   - width: columns of the name.
  public func row(without prefix: String = "", width: Int) -> String {
    func blanks(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
    let short = name.dropFirst(prefix.count)
    let count = "\(partitions)"
    let settings = settings.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    return "\(short)\(blanks(width - short.count + 3 - count.count))\(count)  \(settings)"
  }
}

/// Copies of each partition, and how many of them must have a record before it counts as written.
public struct TopicReplication: Equatable, Sendable {
  /// 1 or more.
  public let copies: Int

  /// - Parameters:
  ///   - asked: what the operator wants; 0 for three, or as many as there are brokers.
  ///   - brokers: of the cluster.
  public init(asked: Int, brokers: Int) {
    copies = asked > 0 ? asked : min(3, max(1, brokers))
  }

  /// `min.insync.replicas`: with three copies one broker may be away and nothing acknowledged is on one disk only;
  /// with fewer a second copy would stop all writing whenever a broker is away.
  public var inSync: Int { copies >= 3 ? 2 : 1 }
}
