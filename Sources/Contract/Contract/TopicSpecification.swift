// SPDX-License-Identifier: Apache-2.0

/// The specification of a topic: name, partitions, retention, and its reader.
public struct TopicSpecification: Equatable, Sendable {
  public enum Cleanup: String, Sendable {
    case delete
    case compact
  }

  public let name: String
  /// The default for one machine; the operator chooses the count.
  public var partitions: Int32
  public let cleanup: Cleanup
  /// The least time that a record is kept; nil for a compacted topic, which keeps the newest record of each key.
  public let retentionMilliseconds: Int64?
  /// The consumer group that reads the topic to its end, if any. Records that it has not committed must not be deleted.
  public let readerGroup: String?
  /// How long compaction keeps a record that has a newer one of its key, in milliseconds; 0 for not at all.
  public let compactionLag: Int64

  /// How long a cancellation on `push.schedule` counts, in milliseconds: it also applies to a request that was written
  /// before it and arrives after it. Compaction must not remove it meanwhile because of a request with the same key.
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

  /// The topic's own settings on a Kafka cluster, in Kafka's names, besides those that depend on its replication.
  public var settings: [(name: String, value: String)] {
    var settings = [("cleanup.policy", cleanup.rawValue)]
    if let retentionMilliseconds { settings.append(("retention.ms", "\(retentionMilliseconds)")) }
    if cleanup == .compact {
      // Old values are compacted soon, so that readers start fast.
      settings.append(("segment.ms", "3600000"))
      // Kafka requires that the longest lag is not below the shortest.
      settings.append(("max.compaction.lag.ms", "\(compactionLag + 21_600_000)"))
      if compactionLag > 0 { settings.append(("min.compaction.lag.ms", "\(compactionLag)")) }
      // A slower reader may miss that a token became valid again.
      settings.append(("delete.retention.ms", "604800000"))
    }
    return settings
  }

  /// The topic as a line of a list such as `deploy/topics.txt`: name, partitions, settings.
  ///
  /// - Parameters:
  ///   - prefix: the prefix to omit from the name.
  ///   - width: the width of the name's column.
  public func row(without prefix: String = "", width: Int) -> String {
    func blanks(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
    let short = name.dropFirst(prefix.count)
    let count = "\(partitions)"
    let settings = settings.map { "\($0.name)=\($0.value)" }.joined(separator: " ")
    return "\(short)\(blanks(width - short.count + 3 - count.count))\(count)  \(settings)"
  }
}

/// The number of replicas of each partition, and how many must have a record before it is acknowledged.
public struct TopicReplication: Equatable, Sendable {
  /// 1 or more.
  public let copies: Int

  /// - Parameters:
  ///   - asked: the operator's number; 0 for three, or as many as there are brokers.
  ///   - brokers: the brokers of the cluster.
  public init(asked: Int, brokers: Int) { copies = asked > 0 ? asked : min(3, max(1, brokers)) }

  /// `min.insync.replicas`: with three replicas one broker may be down, and no acknowledged record is on only one disk;
  /// with fewer, requiring a second replica would stop all writes whenever a broker is down.
  public var inSync: Int { copies >= 3 ? 2 : 1 }
}
