// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ScheduleDecisions
import ServiceKit
import Store

/// Cancels the waiting requests of removed API keys, page by page.
struct HolderSweep {
  /// How long after a key's removal its requests are still searched for, since requests reach the schedule some time
  /// after they were written, and how often, in milliseconds.
  static let lateness: Int64 = 3_600_000
  static let period: UInt64 = 60_000
  static let page = 1_000
  static let pageBytes = 4 << 20

  /// The position of the sweep; nil once it is over.
  fileprivate var place: (partition: Int32, due: Int64, key: ExactText)?
  fileprivate var left: [Int32] = []
  private var revision = 0
  private var round = 0
  private var nextAt: UInt64 = 0
  /// The number of partitions that had not been read to their ends when it began.
  private var unread = 0
  private var isOver: Bool { place == nil && left.isEmpty }

  /// Whether a sweep of all partitions begins now.
  ///
  /// - Parameters:
  ///   - revision: changes with the removed keys.
  ///   - round: changes with the partitions.
  ///   - unread: the number of partitions that have not been read to their ends. What the last sweep could not see, as
  ///     it was not in the database yet, is searched once all are read.
  ///   - isRecent: whether a key was removed within `lateness`.
  ///   - now: monotonic milliseconds.
  mutating func begins(
    revision: Int, round: Int, unread: Int, isRecent: Bool, now: UInt64
  ) -> Bool {
    let isRead = self.unread > 0 && unread == 0
    // One that takes longer than the period comes to its end first.
    let isAgain = isOver && (isRead || isRecent && now >= nextAt)
    guard isAgain || (revision, round) != (self.revision, self.round) else { return false }
    (self.revision, self.round, self.unread) = (revision, round, unread)
    nextAt = now + Self.period
    return true
  }
}

extension SchedulerWorker {
  /// Cancels waiting requests that were made with an API key removed since, with an ordinary cancellation.
  ///
  /// - Returns: whether there is more to do now.
  func endRequestsOfRemovedKeys(_ now: UInt64) -> Bool {
    let (holders, revision) = ended
    guard failure == nil, !holders.isEmpty, !machine.owned.isEmpty else { return false }
    let wall = WallClock.milliseconds()
    let isRecent = holders.values.contains { wall - $0 < HolderSweep.lateness }
    if sweep.begins(
      revision: revision, round: round, unread: upkeep.unnoted.count, isRecent: isRecent, now: now)
    {
      (sweep.left, sweep.place) = (Array(machine.owned), nil)
    }
    if sweep.place == nil, let partition = sweep.left.popLast() {
      sweep.place = (partition, .min, "")
    }
    guard let place = sweep.place else { return false }
    var entries: [ScheduledEntry] = []
    let isDone = withDatabase(now) { () throws(StoreError) in
      entries = try store.due(
        place.partition, through: ScheduleRow.never - 1, after: place.due, place.key,
        limit: HolderSweep.page, bytes: HolderSweep.pageBytes, areAllMeant: true)
    }
    guard isDone else { return false }
    for entry in entries where !entry.row.isCancellation {
      guard let (holder, accepted) = entry.requester, let end = holders[holder], accepted <= end
      else { continue }
      let key = holder.text.dropFirst("key ".count)
      let cancellation = ScheduleCancellation(at: end, by: "the removal of API key \(key)")
      // Without room, the page is searched again.
      guard write(topics.schedule, key: Array(entry.key.utf8), cancellation.value, as: .late) else {
        return false
      }
    }
    // The page may have been cut: only an empty one is the end.
    sweep.place = entries.last.map { (partition: place.partition, due: $0.row.due, key: $0.key) }
    return sweep.place != nil || !sweep.left.isEmpty
  }
}

extension ScheduledEntry {
  /// The API key that a request came with, and when it was written; nil for none.
  fileprivate var requester: (holder: ExactText, accepted: Int64)? {
    var text = value
    return text.withUTF8 { bytes in
      guard case .request(let request)? = try? ScheduleRecord(UnsafeRawBufferPointer(bytes)),
        !request.by.isEmpty
      else { return nil }
      return (request.by.exact, request.accepted)
    }
  }
}
