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
  fileprivate var revision = 0
  fileprivate var round = 0
  fileprivate var nextAt: UInt64 = 0
  fileprivate var isOver: Bool { place == nil && left.isEmpty }
}

extension SchedulerWorker {
  /// Cancels waiting requests that were made with an API key removed since, with an ordinary cancellation.
  ///
  /// - Returns: whether there is more to do now.
  func endRequestsOfRemovedKeys(_ now: UInt64) -> Bool {
    let (holders, revision) = ended
    guard failure == nil, !holders.isEmpty, !machine.owned.isEmpty else { return false }
    let wall = WallClock.milliseconds()
    // One that takes longer than the period comes to its end first.
    let isAgain =
      sweep.isOver && now >= sweep.nextAt
      && holders.values.contains { wall - $0 < HolderSweep.lateness }
    if sweep.revision != revision || sweep.round != round || isAgain {
      (sweep.revision, sweep.round, sweep.nextAt) = (revision, round, now + HolderSweep.period)
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
