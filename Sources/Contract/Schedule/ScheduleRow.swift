// SPDX-License-Identifier: Apache-2.0

internal import Contract
public import Identity

/// The state of one key of the schedule as the database has it: the record that counts. Times are milliseconds since the
/// epoch.
public struct ScheduleRow: Equatable, Sendable {
  /// The record's offset.
  public var offset: Int64
  /// When the request is released, or the cancellation removed.
  public var due: Int64
  /// When the request was written, or cancelled; of a request that ingest has handed back: this process's clock when that
  /// was read.
  public var at: Int64
  public var isCancellation: Bool
  /// True for the record of a campaign: `at` is its revision.
  public var isCampaign: Bool { due == Self.never }
  /// The time of what is not released at one.
  public static let never = Int64.max
  /// `identity(of:)` of the record's value.
  public var identity: Int64
  /// Of a request that ingest has handed back.
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

  /// Tells one value of a key from another, also on a copy of the topic, where it has another offset: FNV-1a, 64 bits.
  public static func identity(of value: some Sequence<UInt8>) -> Int64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    for byte in value { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
    return Int64(bitPattern: hash)
  }
}

/// The meaning of one record of the schedule for its key.
public enum ScheduleChange: Equatable, Sendable {
  /// `requeue`: ingest has handed it back, after it was released.
  case request(due: Int64, accepted: Int64, identity: Int64, requeue: Requeue? = nil)
  /// Requests that were written until `at` are cancelled: the canceller's clock and the requests' writer's say so, no
  /// process's that reads them. It stays for `cancellationKept` from then, or from `keptFrom`, if its clock is ahead of
  /// the reader's.
  case cancellation(at: Int64, keptFrom: Int64? = nil, identity: Int64)
  /// The record of a campaign: of those with the same key, that with the highest revision counts.
  case campaign(revision: Int64, identity: Int64)
  /// A tombstone: what the key has ends, whatever it is, or only the value with this identity.
  case end(of: Int64?)
  /// A record that cannot be read.
  case unreadable

  /// For how long a cancellation stays, in milliseconds: a request that was written before it may arrive after it, when
  /// ingest was behind. As long as requests are kept, and as compaction leaves the topic alone.
  public static let cancellationKept = TopicSpecification.cancellationKept

  /// The consequence of a record.
  public enum Verdict: Equatable, Sendable {
    /// The record is the one that counts.
    case store(ScheduleRow)
    /// Nothing counts any more.
    case remove
    /// What counts stands before this record on the topic, where compaction would drop it: write it again.
    case restore
    /// Known already, or of no consequence.
    case ignore
  }

  /// Decides what a record means.
  ///
  /// - Parameters:
  ///   - offset: the record's.
  ///   - row: what counts until now; nil for nothing.
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
      // Ingest has read the request again whose release it has handed back since, or handed back what was replaced since,
      // or a process has written again what was handed back before: that one's end may be on its way.
      if let row, Self.isOlder(requeue, accepted, than: row) { return .restore }
      return .store(
        ScheduleRow(
          offset: offset, due: due, at: accepted, isCancellation: false, identity: identity,
          requeue: requeue))
    }
  }
}

extension ScheduleChange {
  /// True if a request is older than what counts.
  private static func isOlder(_ requeue: Requeue?, _ accepted: Int64, than row: ScheduleRow)
    -> Bool
  {
    guard let requeue else { return accepted < row.at }
    return row.requeue.map { requeue < $0 } ?? (requeue.written < row.at)
  }
}

/// Rules of the view that the database keeps of the schedule's topic.
public enum ScheduleView {
  /// Whether the database has all that the group has committed of a partition. If not, it is another one, or an older
  /// one, and the partition is read again from its first record.
  ///
  /// - Parameters:
  ///   - position: the next offset that it has not taken; nil if it has nothing of the partition.
  ///   - committed: the group's; nil for none, or where the log is another one than was read.
  public static func isComplete(position: Int64?, committed: Int64?) -> Bool {
    guard let position, let committed else { return false }
    return position >= committed
  }

  /// Whether the log of a partition is another one than the database was read from: it ends before what was read of it.
  /// Then nothing of what the database has is on it.
  ///
  /// - Parameters:
  ///   - position: the next offset that the database has not taken; nil if it has nothing of the partition.
  ///   - end: of the log; nil if that is not known.
  public static func isAnotherLog(position: Int64?, end: Int64?) -> Bool {
    guard let position, let end else { return false }
    return end < position
  }

  /// Whether the log is another one though it is long enough by now: where the database has read an entry's record, it has
  /// that of another key, or with another value.
  ///
  /// - Parameters:
  ///   - found: the key and the value's identity of the record at the entry's offset; nil where compaction has removed it,
  ///     which says nothing.
  ///   - known: those of the entry.
  public static func isAnotherLog(
    found: (key: ExactText, identity: Int64)?, known: (key: ExactText, identity: Int64)
  ) -> Bool {
    guard let found else { return false }
    return found.key != known.key || found.identity != known.identity
  }

  /// When a request is released. One that ingest has handed back waits for as long as ingest's clock says that it is
  /// early, at least a second and at most five minutes: then it is tried again.
  ///
  /// - Parameters:
  ///   - requeuedAt: ingest's clock when it did; nil for a request that was not released yet.
  ///   - now: this process's clock.
  ///   - isCaughtUp: whether the record was written just now. An older one has waited already.
  public static func release(
    due: Int64, requeuedAt: Int64?, now: Int64, isCaughtUp: Bool
  ) -> Int64 {
    guard let requeuedAt, isCaughtUp else { return due }
    return max(due, now + min(max(due - requeuedAt, 1_000), 300_000))
  }
}
