// SPDX-License-Identifier: Apache-2.0

internal import APNS
package import Delivery

/// Partitions come and go: what the loop was given, how far each is done, and giving them back; and what time alone
/// makes due.
extension Dispatcher {
  /// Between two looks at pools and silent connections, in milliseconds.
  private static let upkeepInterval: UInt64 = 20
  /// Between two looks at those where nothing goes on, in milliseconds.
  private static let roundInterval: UInt64 = 1_000

  // MARK: Events

  /// A partition is the loop's now.
  ///
  /// - Returns: its number until all are given back.
  package mutating func granted(_ start: GrantedPartition) -> Int {
    shares.partitionAdded()
    return partitions.add(
      PartitionState(start, bounds: settings.partitionBounds, window: settings.dedupWindow))
  }

  /// A window of `apns-id`s has been rebuilt; if its partition waits for all of it, it begins to be read.
  package mutating func windowCame(_ window: DedupWindow, of partition: Int, isWhole: Bool) {
    partitions[partition].inherit(window, isWhole: isWhole)
    if isWhole { counts[.dedupRebuilds] += 1 }
  }

  /// The partitions are asked back: nothing more is taken, what waits unsent is dropped (its next owner sends it), and
  /// what is in flight gets until the deadline (monotonic milliseconds).
  package mutating func release(until deadline: UInt64) {
    partitions.release(until: deadline)
    for pool in pools.indices {
      while let slot = pools[pool].queue.popAny() { handBack(slot) }
      while let slot = pools[pool].apart.popFirst() { handBack(slot) }
    }
    while let slot = credentials.waiting.popFirst() { handBack(slot) }
    for index in partitions.indices {
      if let early = partitions[index].notDue { handBack(early.slot) }
      partitions[index].notDue = nil
    }
    takeTurns()
  }

  /// A release under way has less time than it was told.
  package mutating func hurryRelease(until deadline: UInt64) {
    partitions.hurry(until: deadline)
  }

  /// The same as `release`, and nothing is given to the loop afterwards.
  package mutating func stop(until deadline: UInt64) {
    partitions.stop()
    release(until: deadline)
  }

  // MARK: Giving back

  /// A partition as it is given back.
  package struct HandedOver: Sendable {
    package let partition: Int
    package let done: PartitionDone
    /// The `apns-id`s of what was completed, if they are all known.
    package let window: DedupWindow?
  }

  /// Gives the partitions back when nothing of theirs is open any more, or when time is up; nil until then.
  package mutating func handOver() -> [HandedOver]? {
    guard partitions.isReleaseDue(now: now) else { return nil }
    let unfinished = partitions.isStopping ? [] : idsInFlight()
    var all: [HandedOver] = []
    for index in partitions.indices {
      guard let done = partitions[index].done else { continue }
      let window =
        partitions.isStopping
        ? nil
        : partitions[index].keptWindow(
          without: unfinished.compactMap { $0.partition == index ? $0.id : nil })
      all.append(HandedOver(partition: index, done: done, window: window))
    }
    partitions.removeAll()
    shares.removePartitions()
    return all
  }

  /// The ids of this assignment's pushes that are still to be answered.
  private func idsInFlight() -> [(partition: Int, id: NotificationID)] {
    var ids: [(Int, NotificationID)] = []
    pushes.visit { _, push in
      if partitions.hasNow(push.origin) { ids.append((Int(push.origin.partition), push.takenID)) }
    }
    return ids
  }

  // MARK: Progress

  /// What has changed about a partition.
  package struct Report: Sendable {
    package let partition: Int
    /// What may be committed, if that is news.
    package let done: PartitionDone?
    /// Offsets that were expected and did not come: the widest stretch since the last report.
    package let jump: Range<Int64>?
    package let fault: LogFault?
    /// It begins without the `apns-id`s that have not been read yet.
    package let isWithoutWindow: Bool

    var isNews: Bool { done != nil || jump != nil || fault != nil || isWithoutWindow }
  }

  /// What may be committed, and what is strange; nil while that is not due yet.
  package mutating func report() -> [Report]? {
    guard now >= schedule.report else { return nil }
    schedule.report = now + settings.commitInterval / 2
    var reports: [Report] = []
    var gauges = PartitionGauges()
    let reserve = shares.reserve
    for index in partitions.indices {
      let report = Report(
        partition: index, done: partitions[index].news(), jump: partitions[index].takeJump(),
        fault: partitions[index].takeFault(), isWithoutWindow: goOnWithoutWindow(index))
      if report.isNews { reports.append(report) }
      gauges.add(&partitions[index], reserve: reserve, now: now)
    }
    counts[.openRecords] = gauges.open
    counts[.completedRuns] = gauges.runs
    counts[.oldestOpenMilliseconds] = Int(clamping: gauges.age)
    counts[.widestSpan] = Int(clamping: gauges.span)
    counts[.partitionsPaused] = gauges.paused
    return reports
  }

  /// How far a partition is.
  package mutating func standing(of partition: Int) -> PartitionStanding {
    PartitionStanding(
      open: partitions[partition].open, committable: partitions[partition].ledger?.committable,
      headAge: partitions[partition].headAge(now: now))
  }

  /// The slot of each partition's oldest push, by its offset.
  package func oldestPushes() -> [UInt32?] {
    var oldest = [UInt32?](repeating: nil, count: partitions.indices.count)
    pushes.visit { slot, push in
      guard partitions.hasNow(push.origin) else { return }
      let place = Int(push.origin.partition)
      if let known = oldest[place], pushes[known].origin.offset <= push.origin.offset { return }
      oldest[place] = slot
    }
    return oldest
  }

  /// How many pushes were created so many milliseconds ago, or earlier.
  package func pushes(atLeast age: Int64) -> Int {
    var count = 0
    pushes.visit { _, push in if wall - push.created >= age { count += 1 } }
    return count
  }

  private mutating func goOnWithoutWindow(_ index: Int) -> Bool {
    guard let deadline = partitions[index].windowDeadline, now >= deadline else { return false }
    partitions[index].goOnWithoutWindow()
    counts[.dedupRebuildsLate] += 1
    return true
  }

  // MARK: Upkeep

  /// Looks after pools, connections and credentials.
  ///
  /// - Returns: false when that is not due yet.
  package mutating func upkeep() -> Bool {
    guard now >= schedule.upkeep else { return false }
    schedule.upkeep = now + Self.upkeepInterval
    var waiting = credentials.waiting.count
    for pool in pools.takeActive() where !pools[pool].isRemoved {
      waiting += pools[pool].queue.count + pools[pool].apart.count
      if now < pools[pool].lookAt, pools.isCalm(pool) {
        pools.activate(pool)
      } else {
        lookAfter(pool)
      }
    }
    counts[.waiting] = waiting
    giveRoom()
    if now >= schedule.round {
      schedule.round = now + Self.roundInterval
      for pool in pools.indices where !pools[pool].isRemoved && !pools[pool].isActive {
        lookAfter(pool)
      }
      refreshCredentials()
      closeIdlePools()
    }
    for pool in pools.removeRetired() { actions.append(.removePool(pool)) }
    expireHeld()
    return true
  }
}
