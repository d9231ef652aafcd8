// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import ServiceKit
import Store

/// What the database needs besides records: receipts and suspicions whose time is over go, and receipts of forgotten
/// devices, a bounded number at a time; SQLite's log is cut when it is long, or may have what was forgotten. Says whether
/// the database takes changes, which nothing else would notice while there are none.
struct DatabaseUpkeep {
  /// A walk over all receipts for those of devices that were forgotten before a time (milliseconds since the epoch).
  private struct Walk {
    let before: Int64
    var place: ReceiptPlace?
  }

  /// A forgotten device waits so long for its walk that the receipts of pushes under way have come too; milliseconds.
  private static let forgettingDelay: Int64 = 60_000
  /// In milliseconds.
  private static let removalPeriod: UInt64 = 2_000
  /// How often old suspicions are looked for, in milliseconds: it takes a look at all of them.
  private static let suspicionPeriod: UInt64 = 3_600_000
  /// Receipts, or suspicions, in one transaction.
  private static let removalLimit = 2_000

  private let store: TokenStore
  private let retention: Int64
  private let counters: Counters<FeedbackMetrics>
  private var patience: DatabaseRetry
  private var isKeepingNoted = false
  private var nextRemoval: UInt64 = 0
  private var nextSuspicions: UInt64 = 0
  private var walk: Walk?
  /// When the log is to be cut; monotonic milliseconds.
  private var cuts: [UInt64] = []
  /// Between a record's tombstone and what follows from it on the other topic; the walk over receipts comes later.
  private static let cutDelays: [UInt64] = [0, 5_000, 20_000]

  init(
    _ store: TokenStore, _ settings: FeedbackSettings, _ context: ServiceContext,
    _ counters: Counters<FeedbackMetrics>
  ) {
    self.store = store
    retention = settings.keepReceipts
    self.counters = counters
    patience = DatabaseRetry(context, counters)
  }

  /// Devices were forgotten: nothing of them is to stay in SQLite's log.
  ///
  /// - Parameter now: monotonic milliseconds.
  mutating func hasForgotten(now: UInt64) { cuts = Self.cutDelays.map { now + $0 } }

  /// Cuts the log if that is due, and again later where somebody reads.
  private mutating func cutLog(now: UInt64) throws(StoreError) {
    guard let bytes = store.logBytes else { return }
    if bytes > TokenStore.longLog || cuts.contains(where: { $0 <= now }), try store.cutLog() {
      cuts.removeAll { $0 <= now }
    }
    counters.set(.databaseLogBytes, store.logBytes ?? 0)
  }

  /// - Parameter now: monotonic milliseconds.
  /// - Returns: whether there is more to do at once.
  mutating func turn(now: UInt64) throws(ServiceFailure) -> Bool {
    guard now >= nextRemoval, patience.isOver else { return false }
    var hasMore = false
    do throws(StoreError) {
      try store.demandWritable()
      if retention > 0 { try noteKeeping() }
      hasMore = try removeReceipts()
      if try removeForgotten(now) { hasMore = true }
      if try removeSuspicions(now) { hasMore = true }
      try cutLog(now: now)
      nextRemoval = hasMore ? now : now + Self.removalPeriod
    } catch {
      try patience.failed(error)
      return false
    }
    patience.succeeded()
    return hasMore
  }

  /// Also again: a copy that keeps none, as in a rolling update, takes the note away while there is no receipt.
  private mutating func noteKeeping() throws(StoreError) {
    if isKeepingNoted, try store.receiptKeeping() != nil { return }
    try store.set(ReceiptKeeping(since: WallClock.milliseconds(), retention: retention))
    isKeepingNoted = true
  }

  /// - Returns: whether the walk goes on.
  private mutating func removeForgotten(_ now: UInt64) throws(StoreError) -> Bool {
    if walk == nil {
      let wall = WallClock.milliseconds()
      guard let first = try store.firstForgotten() else { return false }
      if first > wall + Self.forgettingDelay {
        // The clock was set back: they would wait for as long as it was ahead.
        try store.transaction { () throws(StoreError) in try store.boundForgetting(by: wall) }
      }
      let before = wall - Self.forgettingDelay
      guard first < before else { return false }
      walk = Walk(before: before)
    }
    guard var walk else { return false }
    let page = try store.transaction { () throws(StoreError) in
      let page = try store.removeForgottenReceipts(after: walk.place, limit: Self.removalLimit)
      if page.end == nil { try store.endForgetting(before: walk.before) }
      return page
    }
    counters.add(.receiptsForgotten, page.removed)
    walk.place = page.end
    self.walk = page.end == nil ? nil : walk
    if page.end == nil { hasForgotten(now: now) }
    return page.end != nil
  }

  private mutating func removeSuspicions(_ now: UInt64) throws(StoreError) -> Bool {
    guard now >= nextSuspicions else { return false }
    let oldest = WallClock.milliseconds() - Suspicion.memory
    let count = try store.transaction { () throws(StoreError) -> Int in
      try store.removeSuspicions(before: oldest, limit: Self.removalLimit)
    }
    guard count < Self.removalLimit else { return true }
    nextSuspicions = now + Self.suspicionPeriod
    return false
  }

  /// By what the database says of itself: also a process that keeps none removes what others have kept.
  private func removeReceipts() throws(StoreError) -> Bool {
    guard let keeping = try store.receiptKeeping() else { return false }
    let oldest = WallClock.milliseconds() - keeping.retention
    let count = try store.transaction { () throws(StoreError) -> Int in
      let count = try store.removeReceipts(before: oldest, limit: Self.removalLimit)
      if retention == 0, count < Self.removalLimit { try store.endReceiptKeeping() }
      return count
    }
    counters.add(.receiptsRemoved, count)
    return count == Self.removalLimit
  }
}
