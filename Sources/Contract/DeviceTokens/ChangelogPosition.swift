// SPDX-License-Identifier: Apache-2.0

/// The position up to which a local table reflects one partition of the compacted topic it is made from.
///
/// librdkafka does not tell a topic's id, so the last record that was applied stands for the log's identity: a log
/// that has another record there, or none, is another one or was compacted meanwhile.
public struct ChangelogPosition: Equatable, Sendable {
  /// The last record that was applied.
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

  /// nil: nothing was applied yet.
  public var anchor: Anchor?

  public init(anchor: Anchor? = nil) { self.anchor = anchor }

  /// The first offset that is not applied.
  public var next: Int64 { anchor.map { $0.offset + 1 } ?? 0 }
  /// The offset from which reading goes on: with the last record that was applied, to see that it is still the same
  /// log.
  public var start: Int64? { anchor?.offset }
}

/// Checks that one partition goes on with the record that was applied last.
public struct AnchorCheck: Sendable {
  private var expected: ChangelogPosition.Anchor?

  public init(_ position: ChangelogPosition) { expected = position.anchor }

  /// A record came.
  ///
  /// - Returns: nil when it is to be applied, true for the anchor itself (which is applied already), false when the
  ///   log is another one.
  public mutating func isAnchor(_ record: ChangelogPosition.Anchor) -> Bool? {
    guard let anchor = expected else { return nil }
    expected = nil
    return record == anchor
  }

  /// The log ended.
  ///
  /// - Returns: false when it ends without the record that was applied last: it is another one.
  public func mayEnd() -> Bool { expected == nil }
}

/// Why a local table is rebuilt from its topics.
public enum RestoreReason: Equatable, Sendable, CustomStringConvertible {
  /// There is no local table yet.
  case empty
  /// The local table is so old that tombstones it has not read may be gone.
  case tooOld(milliseconds: Int64)
  /// It was up to date at a time in the future: its age is unknown.
  case clockWentBack(milliseconds: Int64)
  /// It was made from other topics.
  case otherTopics
  /// A partition does not have the record that was applied last: the topic was recreated or cut, or compaction took
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

/// The rule for whether a local table is restored from the changelog or rebuilt.
public struct RestoreRule: Sendable {
  /// Milliseconds; below the topics' `delete.retention.ms`, for which Kafka keeps tombstones.
  public let maxAge: Int64
  /// The most that the clock may have gone back unnoticed, in milliseconds.
  public static let clockTolerance: Int64 = 60_000

  public init(maxAge: Int64) { self.maxAge = maxAge }

  /// A table that was complete so long ago lacks too much to be looked up in while the rest is read, in milliseconds. A
  /// process that follows idle topics notes every ten minutes that it is complete.
  public static let freshness: Int64 = 1_200_000

  /// A part of the time for which Kafka keeps tombstones: clocks differ, and reading takes its time.
  public static func maxAge(deleteRetention: Int64) -> Int64 { deleteRetention / 10 * 9 }

  /// Whether nothing is to be looked up in a table before all that was written since has been read.
  ///
  /// - Parameter followedAt: as for `reason`.
  public static func isBehind(followedAt: Int64?, now: Int64) -> Bool {
    guard let followedAt else { return true }
    let (age, overflow) = now.subtractingReportingOverflow(followedAt)
    return overflow || age > freshness
  }

  /// The reason why a table has to be read from the first records of its topics on.
  ///
  /// - Parameters:
  ///   - followedAt: until when its positions reflect the topics: when it was last complete, or was last begun anew;
  ///     milliseconds since the epoch, nil for never.
  ///   - now: milliseconds since the epoch.
  ///   - topics: of which it has positions.
  ///   - wanted: the topics it is to be made from.
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
