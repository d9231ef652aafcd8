// SPDX-License-Identifier: Apache-2.0

/// The position up to which a local table reflects one partition of the compacted topic it is built from.
///
/// librdkafka does not expose a topic's id, so the last applied record identifies the log: if the log has another
/// record there, or none, the topic was recreated or has been compacted since.
public struct ChangelogPosition: Equatable, Sendable {
  /// The last record applied.
  public struct Anchor: Equatable, Sendable {
    public let offset: Int64
    /// The record's timestamp, milliseconds since the epoch; −1 for none.
    public let timestamp: Int64
    /// `hash` of the record's key.
    public let keyHash: Int64

    public init(offset: Int64, timestamp: Int64, keyHash: Int64) {
      self.offset = offset
      self.timestamp = timestamp
      self.keyHash = keyHash
    }

    /// FNV-1a of a record's key, 64 bits.
    public static func hash(_ key: some Sequence<UInt8>) -> Int64 {
      var hash: UInt64 = 0xcbf2_9ce4_8422_2325
      for byte in key { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
      return Int64(bitPattern: hash)
    }
  }

  /// nil: nothing has been applied yet.
  public var anchor: Anchor?

  public init(anchor: Anchor? = nil) { self.anchor = anchor }

  /// The first offset not applied yet.
  public var next: Int64 { anchor.map { $0.offset + 1 } ?? 0 }
  /// The offset from which reading continues: the last applied record is read again, to check that it is still the same
  /// log.
  public var start: Int64? { anchor?.offset }
}

/// Checks that a partition still has the last applied record.
public struct AnchorCheck: Sendable {
  private var expected: ChangelogPosition.Anchor?

  public init(_ position: ChangelogPosition) { expected = position.anchor }

  /// Checks a record that was read.
  ///
  /// - Returns: nil when it is to be applied, true for the anchor itself (already applied), false when the log is a
  ///   different one.
  public mutating func isAnchor(_ record: ChangelogPosition.Anchor) -> Bool? {
    guard let anchor = expected else { return nil }
    expected = nil
    return record == anchor
  }

  /// The end of the log was reached.
  ///
  /// - Returns: false when the last applied record was not in it: it is a different log.
  public func mayEnd() -> Bool { expected == nil }
}

/// The reason why a local table is rebuilt from its topics.
public enum RestoreReason: Equatable, Sendable, CustomStringConvertible {
  /// There is no local table yet.
  case empty
  /// The local table is so old that Kafka may have removed tombstones it has not read.
  case tooOld(milliseconds: Int64)
  /// The table was up to date at a time in the future: its age is unknown.
  case clockWentBack(milliseconds: Int64)
  /// The table was built from other topics.
  case otherTopics
  /// A partition does not have the last applied record: the topic was recreated or truncated, or compaction removed
  /// that record.
  case otherLog(topic: String, partition: Int32)

  public var description: String {
    switch self {
    case .empty: "there is none yet"
    case .tooOld(let age):
      "it was last up to date \(age / 60_000) min ago, and later tombstones may have been removed"
    case .clockWentBack(let ahead):
      "it was up to date \(ahead / 60_000) min from now by this machine's clock"
    case .otherTopics: "it was made from other topics"
    case .otherLog(let topic, let partition):
      "\(topic)/\(partition) does not continue it: the topic was recreated, truncated, or compacted"
    }
  }
}

/// Decides whether a local table is restored from the changelog or rebuilt.
public struct RestoreRule: Sendable {
  /// In milliseconds; less than the topics' `delete.retention.ms`, for which Kafka keeps tombstones.
  public let maxAge: Int64
  /// The most that the clock may go back unnoticed, in milliseconds.
  public static let clockTolerance: Int64 = 60_000

  public init(maxAge: Int64) { self.maxAge = maxAge }

  /// How often a process that follows idle topics asks whether its table is complete, in milliseconds: often enough to
  /// record it before the table is `maxAge` old, but for one of less than 90 seconds.
  public var idlePeriod: Int64 { max(1_000, min(600_000, maxAge / 3)) }

  /// A table last complete longer ago than this lacks too much for lookups while the rest is read, in milliseconds. A
  /// process that follows idle topics records every ten minutes (`idlePeriod`) that it is complete.
  public static let freshness: Int64 = 1_200_000

  /// Less than the time for which Kafka keeps tombstones: clocks differ, and reading takes time.
  public static func maxAge(deleteRetention: Int64) -> Int64 { deleteRetention / 10 * 9 }

  /// Whether lookups in a table must wait until everything written since has been read.
  ///
  /// - Parameter followedAt: as for `reason`.
  public static func isBehind(followedAt: Int64?, now: Int64) -> Bool {
    guard let followedAt else { return true }
    let (age, overflow) = now.subtractingReportingOverflow(followedAt)
    return overflow || age > freshness
  }

  /// The reason why a table must be read from the first records of its topics; nil if it need not be.
  ///
  /// - Parameters:
  ///   - followedAt: the time to which its positions reflect the topics: when it was last complete, or last rebuilt
  ///     from scratch; milliseconds since the epoch, nil for never.
  ///   - now: milliseconds since the epoch.
  ///   - topics: the topics of its positions.
  ///   - wanted: the topics it is to be built from.
  public func reason(
    followedAt: Int64?, now: Int64, topics: Set<String>, wanted: Set<String>
  ) -> RestoreReason? {
    guard let followedAt else { return .empty }
    guard topics.isSubset(of: wanted) else { return .otherTopics }
    let (age, overflow) = now.subtractingReportingOverflow(followedAt)
    if overflow || age > maxAge { return .tooOld(milliseconds: overflow ? .max : age) }
    return age < -Self.clockTolerance ? .clockWentBack(milliseconds: -age) : nil
  }
}
