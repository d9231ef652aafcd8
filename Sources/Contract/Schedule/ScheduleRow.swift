// SPDX-License-Identifier: Apache-2.0

internal import Contract
public import Identity

/// The state of one key of the schedule in the database, from the record that counts. Times are milliseconds since the
/// epoch.
public struct ScheduleRow: Equatable, Sendable {
  /// The record's offset.
  public var offset: Int64
  /// When the request is released, or the cancellation removed.
  public var due: Int64
  /// When the request was written or cancelled; for a request that ingest has handed back, this process's clock when it
  /// read that record.
  public var at: Int64
  public var isCancellation: Bool
  /// True for the record of a campaign, whose `at` is its revision.
  public var isCampaign: Bool { due == Self.never }
  /// The `due` of entries that are never released by time.
  public static let never = Int64.max
  /// `identity(of:)` of the record's value.
  public var identity: Int64
  /// Set for a request that ingest has handed back.
  public var requeue: Requeue?

  public init(
    offset: Int64, due: Int64, at: Int64, isCancellation: Bool, identity: Int64,
    requeue: Requeue? = nil
  ) {
    (self.offset, self.due, self.at) = (offset, due, at)
    self.isCancellation = isCancellation
    self.identity = identity
    self.requeue = requeue
  }

  /// Identifies a value of a key, also on a copy of the topic, where its offset differs: FNV-1a, 64 bits.
  public static func identity(of value: some Sequence<UInt8>) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in value { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(bitPattern: hash)
  }
}

/// The meaning of a schedule record for its key.
public enum ScheduleChange: Equatable, Sendable {
  /// `requeue`: ingest has handed the request back after its release.
  case request(due: Int64, accepted: Int64, identity: Int64, requeue: Requeue? = nil)
  /// Requests written until `at` are cancelled, by the clocks of the canceller and of the requests' writer, not of the
  /// process that reads them. The cancellation is kept for `cancellationKept` from then, or from `keptFrom` if its
  /// clock is ahead of the reader's.
  case cancellation(at: Int64, keptFrom: Int64? = nil, identity: Int64)
  /// The record of a campaign: among those with the same key, the highest revision counts.
  case campaign(revision: Int64, identity: Int64)
  /// A tombstone: ends whatever the key has, or only the value with this identity.
  case end(of: Int64?)
  /// A record that cannot be read.
  case unreadable

  /// How long a cancellation is kept, in milliseconds: if ingest was behind, a request written before it may arrive
  /// after it. As long as requests are kept, and as compaction leaves the topic alone.
  public static let cancellationKept = TopicSpecification.cancellationKept

  /// The effect of a record.
  public enum Verdict: Equatable, Sendable {
    /// The record is the one that counts.
    case store(ScheduleRow)
    /// Nothing counts for the key any more.
    case remove
    /// The record that counts stands before this one, where compaction would remove it: rewrite it.
    case restore
    /// Already known, or without effect.
    case ignore
  }

  /// Decides the effect of a record.
  ///
  /// - Parameters:
  ///   - offset: the record's offset.
  ///   - row: the row that has counted so far; nil for none.
  public func verdict(at offset: Int64, over row: ScheduleRow?) -> Verdict {
    // Read again after a crash.
    if let row, offset <= row.offset { return .ignore }
    switch self {
    case .end(let identity):
      guard let row else { return .ignore }
      return row.identity == identity ?? row.identity ? .remove : .restore
    case .unreadable: return row == nil ? .ignore : .restore
    case .campaign(let revision, let identity):
      if let row, row.isCampaign,
        row.at > revision || (row.at == revision && row.identity != identity)
      {
        return .restore
      }
      return .store(
        ScheduleRow(
          offset: offset, due: ScheduleRow.never, at: revision, isCancellation: false,
          identity: identity))
    case .cancellation(let at, let keptFrom, let identity):
      return .store(
        ScheduleRow(
          offset: offset, due: (keptFrom ?? at) + Self.cancellationKept, at: at,
          isCancellation: true, identity: identity))
    case .request(let due, let accepted, let identity, let requeue):
      if let row, row.isCancellation, accepted <= row.at { return .restore }
      // Ingest has reread a request whose release it has handed back since, or handed back one replaced since, or a
      // process has rewritten one that was handed back before: the tombstone of that one may be in flight.
      if let row, Self.isOlder(requeue, accepted, than: row) { return .restore }
      return .store(
        ScheduleRow(
          offset: offset, due: due, at: accepted, isCancellation: false, identity: identity,
          requeue: requeue))
    }
  }
}

extension ScheduleChange {
  /// True if a request is older than the row.
  private static func isOlder(_ requeue: Requeue?, _ accepted: Int64, than row: ScheduleRow)
    -> Bool
  {
    guard let requeue else { return accepted < row.at }
    return row.requeue.map { requeue < $0 } ?? (requeue.written < row.at)
  }
}

/// Rules for the database's view of the schedule topic.
public enum ScheduleView {
  /// Whether the database has everything of a partition that the group has committed. If not, it is a different or
  /// older database, and the partition is read again from its first record.
  ///
  /// - Parameters:
  ///   - position: the next offset for the database; nil if it has nothing of the partition.
  ///   - committed: the group's committed offset; nil for none, or where the log is not the one that was read.
  public static func isComplete(position: Int64?, committed: Int64?) -> Bool {
    guard let position, let committed else { return false }
    return position >= committed
  }

  /// Whether a partition's log is not the one that the database was read from: it ends before the database's position.
  /// Then it has none of the database's entries.
  ///
  /// - Parameters:
  ///   - position: the next offset for the database; nil if it has nothing of the partition.
  ///   - end: the log's end offset; nil if unknown.
  public static func isAnotherLog(position: Int64?, end: Int64?) -> Bool {
    guard let position, let end else { return false }
    return end < position
  }

  /// Whether the log is a different one although it is long enough: at the offset of a known entry it has a record with
  /// another key or value.
  ///
  /// - Parameters:
  ///   - found: the key and the value's identity of the record at the entry's offset; nil where compaction has removed
  ///     it, which proves nothing.
  ///   - known: those of the entry.
  public static func isAnotherLog(
    found: (key: ExactText, identity: Int64)?, known: (key: ExactText, identity: Int64)
  ) -> Bool {
    guard let found else { return false }
    return found.key != known.key || found.identity != known.identity
  }

  /// When a request is released. A request that ingest has handed back waits for as long as it is early by ingest's
  /// clock, at least a second and at most five minutes, and is then tried again.
  ///
  /// - Parameters:
  ///   - requeuedAt: ingest's clock when it handed the request back; nil for one not released yet.
  ///   - now: this process's clock.
  ///   - isCaughtUp: whether the record was written just now. An older one has already waited.
  public static func release(
    due: Int64, requeuedAt: Int64?, now: Int64, isCaughtUp: Bool
  ) -> Int64 {
    guard let requeuedAt, isCaughtUp else { return due }
    return max(due, now + min(max(due - requeuedAt, 1_000), 300_000))
  }
}
