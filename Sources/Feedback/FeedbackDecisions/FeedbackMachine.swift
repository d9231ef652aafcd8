// SPDX-License-Identifier: Apache-2.0

/// A walk over rows of the database, page by page.
public struct PagedRound<Row: Sendable>: Sendable {
  /// Whether there is a page to look at.
  public private(set) var isDue = false
  /// The last row of the page before; nil at the first.
  public private(set) var after: Row?

  /// Begins with the first page.
  mutating func start() {
    isDue = true
    after = nil
  }

  /// A page was looked at; `last` is its last row, nil when there are no more.
  public mutating func read(to last: Row?) {
    isDue = last != nil
    after = last
  }
}

/// The batches of the feedback service, each a pass through the same steps: take records, wait until the database has
/// all that was written before, judge by it, publish what follows, wait until Kafka has that, and only then complete the
/// offsets. While a step cannot be done nothing further is taken, and nothing is skipped.
///
/// It counts what a batch holds; the records themselves are its owner's.
public struct FeedbackMachine<Row: Sendable>: Sendable {
  public enum Action: Sendable, Equatable {
    /// The database is to have all that was written to the topics until now.
    case verify
    /// Judge what was taken, with a page of each round that is due; ends with `judged` or `outdated`, and comes again
    /// until then.
    case judge
    /// Hand the records that follow to Kafka, from this index on; ends with `handedOver`.
    case publish(from: Int)
    /// Complete the offsets of what was taken, and forget it.
    case complete
  }

  /// Walks over marks to take back, and over suspicions to confirm.
  public struct Rounds: Sendable {
    public var refuting = PagedRound<Row>()
    public var confirming = PagedRound<Row>()
  }

  @usableFromInline enum Phase: Equatable, Sendable {
    case idle, verifying, judging
    /// `next` of the records that follow are handed over.
    case publishing(next: Int, of: Int)
  }

  /// How often all marks and suspicions are looked at, besides when something has changed; in milliseconds.
  private static var roundInterval: UInt64 { 60_000 }
  private static var largeBatch: Int { 1_000 }
  /// How long the batch after a large one grows, in milliseconds.
  private static var growingTime: UInt64 { 250 }
  /// The time from the end of a batch with records to the next, in milliseconds. Each costs a transaction and questions
  /// to Kafka: while records come one by one, those of this time share them.
  private static var spacing: UInt64 { 25 }
  /// Lines in one database transaction, besides those of the last step.
  @usableFromInline static var mostLines: Int { 16_000 }
  /// Bytes of records in a batch, besides those of the last step: what follows from them is no more.
  @usableFromInline static var mostBytes: Int { 8 << 20 }

  // What is called for each record is inlined into other modules.
  @usableFromInline let records: Int
  @usableFromInline let atOnce: Int
  @usableFromInline var phase = Phase.idle
  @usableFromInline var isDraining = false
  // What was taken.
  @usableFromInline var count = 0
  @usableFromInline var lines = 0
  @usableFromInline var bytes = 0
  @usableFromInline var oldest = Int64.max
  /// The partitions of answers that are ours, and those of them that have been read to their end.
  private var owned: Set<Int32> = []
  @usableFromInline var ended: Set<Int32> = []
  /// Until when answers have been taken, in milliseconds since the epoch.
  public private(set) var takenUntil: Int64 = 0
  private var hasRefutedMarks = false
  /// Records of the batch before.
  private var countBefore = 0
  /// When the next batch with records may begin, and until when one with some grows; monotonic milliseconds.
  private var beginsAt: UInt64 = 0
  public private(set) var growsUntil: UInt64?
  private var nextRound: UInt64 = 0
  /// The walks over all devices.
  public var rounds = Rounds()

  /// - Parameters:
  ///   - records: in a batch at most.
  ///   - atOnce: records that are taken before `hasRoom` is asked again.
  public init(records: Int, atOnce: Int) {
    self.records = records
    self.atOnce = atOnce
  }

  /// Whether no batch is under way.
  @inlinable
  public var isIdle: Bool { phase == .idle }

  /// True while a batch is judged and Kafka has not yet all that follows from it.
  public var isPublishing: Bool { if case .publishing = phase { true } else { false } }

  /// Milliseconds since the oldest record of the batch was written; 0 without one.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func age(now: Int64) -> Int { oldest == .max ? 0 : Int(max(0, now - oldest)) }

  /// A suspicion is confirmed when no wave followed it: only with all answers read can that be known.
  public var isConfirming: Bool { rounds.confirming.isDue && owned.isSubset(of: ended) }

  /// Whether this process speaks for the devices of a partition.
  public func owns(_ partition: Int32) -> Bool { owned.contains(partition) }

  // MARK: The group

  /// These partitions of answers are ours from now on (monotonic milliseconds).
  public mutating func begin(_ partitions: Set<Int32>, now: UInt64) {
    (owned, ended, isDraining) = (partitions, [], false)
    startRounds(now)
  }

  /// No further batch begins until `begin`.
  ///
  /// - Parameter isRebuilding: the database is still being made: nobody waits for that.
  /// - Returns: whether the batch is to be given up (`drop`): one that grows goes with its partitions.
  public mutating func drain(isRebuilding: Bool) -> Bool {
    isDraining = true
    if isIdle { return count > 0 }
    return phase == .verifying && isRebuilding
  }

  /// The partitions are given back.
  public mutating func unassigned() { owned = [] }

  /// The batch is given up; the next owner of its partitions reads it again.
  public mutating func drop() {
    countBefore = count
    (count, lines, bytes, oldest) = (0, 0, 0, .max)
    growsUntil = nil
    phase = .idle
  }

  // MARK: Records

  /// Records are taken now (milliseconds since the epoch), unless a batch is under way: a database that takes nothing for
  /// hours leaves answers unread.
  public mutating func takes(now: Int64) { if isIdle { takenUntil = now } }

  /// Whether further records are to be taken.
  @inlinable
  public var hasRoom: Bool {
    guard isIdle, !isDraining else { return false }
    return count == 0
      || (count + atOnce <= records && lines < Self.mostLines && bytes < Self.mostBytes)
  }

  /// A record was taken into the batch.
  ///
  /// - Parameters:
  ///   - timestamp: in milliseconds since the epoch; below 0 for none.
  ///   - lines: that it makes in the database.
  @inlinable
  public mutating func took(timestamp: Int64, bytes: Int, lines: Int) {
    count += 1
    self.bytes += bytes
    self.lines += lines
    if timestamp >= 0 { oldest = min(oldest, timestamp) }
  }

  /// A record of a partition of answers came: there may be more.
  @inlinable
  public mutating func reads(_ partition: Int32) { ended.remove(partition) }

  /// A partition of answers was read to its end.
  public mutating func reachedEnd(of partition: Int32) { ended.insert(partition) }

  /// Marks may stand on the topic that registrations refute.
  public mutating func marksAreRefuted() { hasRefutedMarks = true }

  private mutating func startRounds(_ now: UInt64) {
    rounds.refuting.start()
    rounds.confirming.start()
    nextRound = now + Self.roundInterval
  }

  private mutating func startRoundsIfDue(_ now: UInt64) {
    guard !owned.isEmpty else { return }
    if hasRefutedMarks { rounds.refuting.start() }
    hasRefutedMarks = false
    if now >= nextRound { startRounds(now) }
  }

  // MARK: Steps

  /// What is to be done next; nil when there is nothing. To be called until it says so or the step was not possible,
  /// every turn.
  ///
  /// - Parameters:
  ///   - now: monotonic milliseconds.
  ///   - isVerified: the database has all that the last `verify` asked for; looked up only where it matters.
  ///   - outstanding: records that Kafka has not acknowledged.
  public mutating func next(
    now: UInt64, isVerified: @autoclosure () -> Bool, outstanding: Int
  ) -> Action? {
    switch phase {
    case .idle:
      guard !isDraining else { return nil }
      startRoundsIfDue(now)
      guard count > 0 || rounds.refuting.isDue || isConfirming else { return nil }
      if isGrowing(now) { return nil }
      phase = .verifying
      return .verify
    case .verifying:
      guard isVerified() else { return nil }
      phase = .judging
      return .judge
    case .judging: return .judge
    case .publishing(let next, let count):
      if next < count { return .publish(from: next) }
      guard outstanding == 0 else { return nil }
      if self.count > 0 { beginsAt = now + Self.spacing }
      drop()
      return .complete
    }
  }

  /// True while the batch waits for more records: they will share one write of the database's pages.
  private mutating func isGrowing(_ now: UInt64) -> Bool {
    guard count > 0, hasRoom else { return false }
    let end = growsUntil ?? (countBefore >= Self.largeBatch ? now + Self.growingTime : beginsAt)
    growsUntil = end
    return now < end
  }

  /// The batch is judged, with the pages of `rounds`; so many records follow from it.
  public mutating func judged(following count: Int) { phase = .publishing(next: 0, of: count) }

  /// The database is not the one that was verified.
  ///
  /// - Returns: whether the batch is to be given up (`drop`): its partitions are given back.
  public mutating func outdated() -> Bool {
    phase = .idle
    return isDraining
  }

  /// Kafka's client has the records below this index.
  public mutating func handedOver(below index: Int) {
    guard case .publishing(_, let count) = phase else { return }
    phase = .publishing(next: index, of: count)
  }
}
