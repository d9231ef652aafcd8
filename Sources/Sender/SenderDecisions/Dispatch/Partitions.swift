// SPDX-License-Identifier: Apache-2.0

public import ConsumerGroup
internal import Contract

/// A partition as it is given back.
public struct HandedOverPartition: Sendable {
  public let partition: Int
  public let done: PartitionDone
  /// Offsets that did not come, of which no report has told.
  public let jump: Range<Int64>?
  /// The `apns-id`s of what was completed, if they are all known.
  public let window: DedupWindow?
  /// The pushes under way, and those of whose outcome Kafka has not told yet: the next owner sends them again.
  public let underWay: Int
}

/// The partitions of one loop in one assignment, by index.
struct Partitions: Sendable {
  private var all: [PartitionState] = []
  /// The partitions of retry topics.
  private(set) var retries: [Int] = []
  /// Counts assignments; a push of an earlier one completes no offset.
  private(set) var epoch: UInt32 = 0
  /// Until when to wait for answers, once the partitions were asked back (monotonic milliseconds).
  private var drainDeadline: UInt64?
  /// They were asked back for good.
  private(set) var isStopping = false

  subscript(_ index: Int) -> PartitionState {
    @inline(__always) get { all[index] }
    @inline(__always) _modify { yield &all[index] }
  }

  var indices: Range<Int> { all.indices }
  var isEmpty: Bool { all.isEmpty }

  mutating func add(_ partition: PartitionState) -> Int {
    if partition.isRetry { retries.append(all.count) }
    all.append(partition)
    return all.count - 1
  }

  // MARK: Draining

  /// Nobody has asked for them back.
  var isFeeding: Bool { drainDeadline == nil }

  /// They are asked back, or have less time than they were given for that.
  ///
  /// - Parameter isLast: none comes any more.
  mutating func drain(until deadline: UInt64, isLast: Bool) {
    drainDeadline = deadline
    if isLast { isStopping = true }
  }

  /// True if the partitions are to be given back now: nothing of theirs is open any more, or time is up.
  func isHandOverDue(now: UInt64) -> Bool {
    guard let drainDeadline else { return false }
    return all.allSatisfy(\.isDrained) || now >= drainDeadline
  }

  /// Gives all back: the assignment is over.
  ///
  /// - Parameter unfinished: the ids of the pushes that are still to be answered.
  mutating func handOver(
    unfinished: [(partition: Int, id: NotificationID)]
  ) -> [HandedOverPartition] {
    var given: [HandedOverPartition] = []
    for index in all.indices {
      guard let done = all[index].done else { continue }
      let window =
        isStopping
        ? nil
        : all[index].keptWindow(
          without: unfinished.compactMap { $0.partition == index ? $0.id : nil })
      given.append(
        HandedOverPartition(
          partition: index, done: done, jump: all[index].drainJump(), window: window,
          underWay: all[index].underWay))
    }
    removeAll()
    return given
  }

  private mutating func removeAll() {
    all.removeAll()
    retries.removeAll()
    epoch &+= 1
    if !isStopping { drainDeadline = nil }
  }

  /// A push is given up unsent: its partition's next owner sends the record.
  mutating func handBack(_ origin: Origin, _ id: NotificationID) {
    if hasNow(origin) { all[Int(origin.partition)].handBack(id) }
  }

  // MARK: Records

  /// True if a record belongs to this assignment.
  func hasNow(_ origin: Origin) -> Bool { origin.epoch == epoch }

  /// The partition of a record of this assignment; nil for one of an earlier assignment.
  func place(of origin: Origin) -> Int? { hasNow(origin) ? Int(origin.partition) : nil }

  /// Kafka has the outcome of a record. What belongs to an earlier assignment has no ledger to land in: it was reported,
  /// and is never committed.
  mutating func acknowledged(_ origin: Origin) {
    if hasNow(origin) { all[Int(origin.partition)].acknowledged(origin.offset) }
  }

  /// The retry topic of a record; nil for a lane's.
  func retryTopic(of origin: Origin) -> RetryTier? {
    guard let index = place(of: origin), case .retries(let tier) = all[index].topicKind else {
      return nil
    }
    return tier
  }

  /// True if a newer push with the key of a push was taken from its lane, and it is not the last state.
  ///
  /// - Parameter old: what was created earlier is one of a pile, if it was fresh when it was read, in milliseconds since
  ///   the epoch.
  func isSuperseded(_ push: borrowing PushState, before old: Int64) -> Bool {
    if push.state.isFresh, push.created >= old { return false }
    guard !push.state.isFinal, let index = place(of: push.origin), !all[index].isRetry else {
      return false
    }
    return all[index].isSuperseded(push.state)
  }

  // MARK: How far they are

  /// The progress that may be committed, and anomalies.
  ///
  /// - Parameter reserve: how many of those that may be open of each are to be left.
  mutating func report(reserve: Int, _ turn: inout Turn) -> [PartitionReport] {
    var gauges = PartitionGauges()
    var reports: [PartitionReport] = []
    for index in all.indices {
      let report = all[index].report(as: index, now: turn.now)
      if report.isWithoutWindow { turn.count(.dedupRebuildsLate) }
      if report.isNews { reports.append(report) }
      all[index].add(to: &gauges, reserve: reserve, now: turn.now)
    }
    gauges.show(&turn)
    return reports
  }

  /// When the next retry that was read before it was due will be, in monotonic milliseconds.
  var nextRetryDue: UInt64? {
    var next = UInt64.max
    for index in retries { next = min(next, all[index].nextDue) }
    return next == .max ? nil : next
  }
}
