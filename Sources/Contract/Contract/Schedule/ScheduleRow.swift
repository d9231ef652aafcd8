// SPDX-License-Identifier: Apache-2.0

/// The state of one key of the schedule in the database, from the record that counts. Times are milliseconds since the
/// epoch.
public struct ScheduleRow: Equatable, Sendable {
  /// What the record says.
  public enum Kind: Equatable, Sendable {
    /// When a request is released, and when it was written: by this process's clock if the writer's was ahead of it.
    case request(due: Int64, written: Int64)
    /// When a request that ingest has handed back is released again, and this process's clock when it read the record.
    case handedBack(due: Int64, Requeue, read: Int64)
    /// Requests written until `at` are cancelled. The last state of an activity is kept like this as well.
    case cancellation(at: Int64, keptUntil: Int64)
    /// Among the records of a campaign, the one with the highest revision counts.
    case campaign(revision: Int64)
  }

  /// The record's offset.
  public var offset: Int64
  /// `identity(of:)` of the record's value.
  public let identity: Int64
  public var kind: Kind
  /// The `due` of campaigns, which are never released by time.
  public static let never = Int64.max
  public var isCancellation: Bool { if case .cancellation = kind { true } else { false } }
  public var isCampaign: Bool { if case .campaign = kind { true } else { false } }
  /// When the request is released, or the cancellation removed.
  public var due: Int64 {
    switch kind {
    case .request(let due, _), .handedBack(let due, _, _), .cancellation(_, let due): due
    case .campaign: Self.never
    }
  }
  /// True if it was due when it was written, or, handed back, when it was read.
  public var wasDue: Bool {
    switch kind {
    case .request(let due, let at), .handedBack(let due, _, let at): due <= at
    case .cancellation(let at, let keptUntil): keptUntil <= at
    case .campaign: false
    }
  }

  public init(offset: Int64, identity: Int64, kind: Kind) {
    (self.offset, self.identity, self.kind) = (offset, identity, kind)
  }

  /// Identifies a value of a key, also on a copy of the topic, where its offset differs: FNV-1a, 64 bits.
  public static func identity(of value: some Sequence<UInt8>) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in value { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(bitPattern: hash)
  }

  /// True if a record has no effect because of the one that counts so far.
  fileprivate func isOlder(than row: ScheduleRow) -> Bool {
    switch (kind, row.kind) {
    case (.request(_, let written), .cancellation(let at, _)): written <= at
    case (.request(_, let written), .request(_, let known)): written < known
    // Ingest has reread a request whose release it has handed back since. One that was written later replaces it,
    // however late a process reads both.
    case (.request(_, let written), .handedBack(_, let requeue, let read)):
      written < read && written <= requeue.written
    case (.handedBack(_, let requeue, let read), .cancellation(let at, _)):
      min(requeue.written, read) <= at
    // Ingest has handed back a request that was replaced since.
    case (.handedBack(_, let requeue, _), .request(_, let known)): requeue.written < known
    // A process has rewritten one that was handed back before: the tombstone of that one may be in flight.
    case (.handedBack(_, let requeue, _), .handedBack(_, let known, _)): requeue < known
    case (.campaign(let revision), .campaign(let known)):
      known > revision || (known == revision && row.identity != identity)
    case (.cancellation, _), (.campaign, _), (_, .campaign): false
    }
  }
}

extension ScheduleRow.Kind {
  /// What counts after `known`: of two cancellations, which may come in another order than they were made, the later
  /// time, and the longer one for which they are kept.
  fileprivate func following(_ known: Self?) -> Self {
    guard case .cancellation(let at, let keptUntil) = self,
      case .cancellation(let earlier, let earlierUntil)? = known
    else { return self }
    return .cancellation(at: max(at, earlier), keptUntil: max(keptUntil, earlierUntil))
  }

  /// A request with the time in its record again, if the clock by which it was written or read was ahead of `now` by more
  /// than the tolerance; nil for everything else.
  public func mended(due: Int64, now: Int64) -> Self? {
    switch self {
    case .request(_, let written) where written > now + SendTime.tolerance:
      .request(due: due, written: now)
    case .handedBack(_, let requeue, let read) where read > now + SendTime.tolerance:
      .handedBack(due: due, requeue, read: now)
    case .request, .handedBack, .cancellation, .campaign: nil
    }
  }
}

/// The meaning of a schedule record for its key.
public enum ScheduleChange: Equatable, Sendable {
  /// This counts for the key, unless it is older than what has counted so far.
  case value(ScheduleRow.Kind, identity: Int64)
  /// A tombstone: ends whatever the key has, or only the value with this identity.
  case end(of: Int64?)
  /// A record that cannot be read.
  case unreadable

  /// A request that was written at `accepted`, as a process reads it: see `ScheduleView.release`.
  public static func request(
    due: Int64, accepted: Int64, requeuedAt: Int64?, now: Int64, isCaughtUp: Bool, identity: Int64
  ) -> Self {
    let due = ScheduleView.release(
      due: due, requeuedAt: requeuedAt, now: now, isCaughtUp: isCaughtUp)
    guard let requeuedAt else {
      return .value(.request(due: due, written: min(accepted, now)), identity: identity)
    }
    let requeue = Requeue(written: accepted, at: requeuedAt)
    return .value(.handedBack(due: due, requeue, read: now), identity: identity)
  }

  /// A cancellation of requests written until `at`, by the clocks of the canceller and of the requests' writer, not of
  /// the process that reads them. It is kept for `cancellationKept` from then, or from `keptFrom` if its clock is ahead
  /// of the reader's.
  public static func cancellation(at: Int64, keptFrom: Int64? = nil, identity: Int64) -> Self {
    let keptUntil = (keptFrom ?? at) + cancellationKept
    return .value(.cancellation(at: at, keptUntil: keptUntil), identity: identity)
  }

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
    case .value(let kind, let identity):
      let new = ScheduleRow(offset: offset, identity: identity, kind: kind.following(row?.kind))
      if let row, new.isOlder(than: row) { return .restore }
      return .store(new)
    }
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

  /// Whether what was written again for a partition stands in another one, as the topic has another number of them.
  ///
  /// - Parameter place: the partition that the broker tells; negative for none.
  public static func isMoved(from partition: Int32, to place: Int32) -> Bool {
    place >= 0 && place != partition
  }

  /// The partitions that the database knows and the topic does not have any more; nil if the count cannot be right,
  /// since a partition beyond it is assigned.
  ///
  /// - Parameters:
  ///   - owned: the partitions that this process is assigned.
  ///   - count: how many the topic has.
  public static func gone(known: [Int32], owned: [Int32], count: Int) -> [Int32]? {
    guard count > 0, owned.allSatisfy({ Int($0) < count }) else { return nil }
    return known.filter { Int($0) >= count }
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
