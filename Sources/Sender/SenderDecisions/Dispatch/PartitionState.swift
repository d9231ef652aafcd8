// SPDX-License-Identifier: Apache-2.0

public import ConsumerGroup
internal import Contract

/// One assigned partition as its loop decides by it.
public struct PartitionState: Sendable {
  public let topicKind: TopicKind
  /// Made at the first record if the group has committed nothing yet.
  private var ledger: OffsetLedger?
  private var recent: RecentIDs
  /// The newest push of each key: of a lane.
  private(set) var states: NewestStates
  /// The newest push of each collapse id that was fresh when it was read: of a lane, while it is under way.
  private var fresh = NewestStates(capacity: Self.leastStates)
  /// Spreads what a retry topic gives back.
  private var pacing: RetryPacing?
  /// A record that was read before it was due, and when it will be (monotonic milliseconds): a retry, or the head of a
  /// paused lane.
  private var notDue: (slot: UInt32, due: UInt64)?
  /// Records that were taken and given up unsent since the partition is to be given back.
  private var handedBack = 0

  private let bounds: PartitionBounds
  private var windowDeadline: UInt64?
  /// True if the ids of all records before are known, as far as a window reaches.
  private var isWindowWhole: Bool
  /// The progress last reported to the control thread.
  private var told: (committable: Int64, completions: UInt64) = (-1, 0)
  /// Completed runs above the committable offset when that was last looked at.
  private var runs = 0
  /// The widest jump of offsets since the control thread was last told.
  private var jump: Range<Int64>?
  /// Offsets went back, below what was to come, or a map passes over a record: whether the log still reaches as far as
  /// anything of it is known tells if it is the same one.
  private var wentBackFrom: Int64?
  private var stepsBack = StepsBack()
  /// The same was asked of the map that an owner before left, when it first passed over a record.
  private var hasDoubtedMap = false
  /// When the committable offset last moved (monotonic milliseconds), and where to.
  private var head: (offset: Int64, since: UInt64) = (-1, 0)

  public var isRetry: Bool {
    if case .retries = topicKind { return true }
    return false
  }

  /// When the retry that was read before it was due will be (monotonic milliseconds); `.max` without one.
  var nextDue: UInt64 { notDue?.due ?? .max }

  /// A record was read before it was due.
  var hasEarly: Bool { notDue != nil }

  /// That is the head of a paused lane, which is due when somebody resumes it.
  var isHeld: Bool { notDue?.due == .max }

  /// Keeps a record that was read before it was due.
  mutating func keep(_ slot: UInt32, until due: UInt64) { notDue = (slot, due) }

  /// Hands out the record that was read before it was due, whether it is or not.
  mutating func drainEarly() -> UInt32? {
    defer { notDue = nil }
    return notDue?.slot
  }

  /// Hands out the retry that was read before it was due, once it is.
  mutating func popDue(_ now: UInt64) -> UInt32? {
    guard let notDue, notDue.due <= now else { return nil }
    self.notDue = nil
    return notDue.slot
  }

  /// When a record of a retry topic goes out, in monotonic milliseconds; 0 for one of a lane.
  ///
  /// - Parameter written: the record's timestamp.
  mutating func due(written: Int64, wall: Int64, now: UInt64, random: UInt64) -> UInt64 {
    pacing?.pace(written: written, wall: wall, now: now, random: random) ?? 0
  }

  /// The class by which its records share the streams.
  public var sendClass: SendClass {
    switch topicKind {
    case .lane(let lane): SendClass(lane)
    case .retries: .retry
    }
  }

  /// - Parameter window: `apns-id`s that a lane's partition remembers. Retry topics hold what was taken before.
  public init(_ grant: GrantedPartition, bounds: PartitionBounds, window: Int) {
    topicKind = grant.topicKind
    windowDeadline = grant.windowDeadline
    isWindowWhole = grant.windowDeadline == nil
    self.bounds = bounds
    states = NewestStates(capacity: max(window, Self.leastStates))
    switch grant.topicKind {
    case .lane:
      recent = RecentIDs(capacity: window)
      if let window = grant.window {
        recent.inherit(window)
        states.merge(window.states)
      }
    case .retries(let tier):
      recent = RecentIDs(capacity: 0)
      pacing = RetryPacing(tier)
    }
    ledger = grant.resume.next.map {
      OffsetLedger(nextOffset: $0, completedAbove: grant.resume.completedAbove)
    }
  }

  /// Records taken and not completed.
  public var open: Int { ledger?.incomplete ?? 0 }

  /// Those of them that are still worked on.
  var underWay: Int { max(0, open - handedBack) }

  /// True if everything that is still worked on is done.
  var isDrained: Bool { underWay == 0 }

  /// The number of records that may be taken now, as far as this partition alone is concerned.
  ///
  /// - Parameter reserve: how many of those that may be open are to be left.
  func allowance(reserve: Int = 0) -> Int {
    guard windowDeadline == nil else { return 0 }
    guard let ledger else { return bounds.openAtMost - reserve }
    // Below the end of a map that was read back, records only fill what lies between its runs: as many runs as
    // the bound allows must not keep the records away that would make them fewer.
    let runs = ledger.isBelowMap ? 0 : self.runs
    return bounds.allowance(open: ledger.incomplete + reserve, runs: runs, span: ledger.span)
  }

  /// Takes the offset of a record in: what is done or under way already must not be worked on.
  public mutating func admit(_ offset: Int64) -> OffsetLedger.Admission {
    guard let expected = ledger?.nextOffset else {
      ledger = OffsetLedger(nextOffset: offset)
      return ledger!.received(offset)
    }
    if offset > expected {
      if jump == nil || offset - expected > jump!.upperBound - jump!.lowerBound {
        jump = expected..<offset
      }
    } else if offset < expected {
      if stepsBack.isOne(offset, below: expected) { wentBackFrom = ledger?.knownEnd }
      // Places in another log say nothing.
      if !states.isEmpty { states = NewestStates(capacity: states.capacity) }
      if !fresh.isEmpty { fresh = NewestStates(capacity: fresh.capacity) }
    }
    let admission = ledger!.received(offset)
    if admission == .alreadyCompleted { doubtMap() }
    return admission
  }

  /// A record is passed over that was not read in this assignment. The log may have been made again since the map was found
  /// to lie within it; a reader that has read nothing sees no offset go back then.
  private mutating func doubtMap() {
    guard !hasDoubtedMap else { return }
    hasDoubtedMap = true
    wentBackFrom = wentBackFrom ?? ledger?.knownEnd
  }

  /// Kafka has the outcome of a record.
  mutating func acknowledged(_ offset: Int64) { _ = ledger?.completed(offset) }

  mutating func drainWentBackFrom() -> Int64? {
    defer { wentBackFrom = nil }
    return wentBackFrom
  }

  // MARK: States

  /// A window of fewer ids still has so many states.
  private static let leastStates = 1_024

  /// The slots of the newest pushes of an identity, one for each urgency, while they are under way; else
  /// `NewestStates.none`.
  func underWay(like state: StateFacts) -> InlineArray<4, UInt32> {
    var slots = InlineArray<4, UInt32>(repeating: NewestStates.none)
    for urgency in 0..<Urgency.count {
      let known = states.find(state.tracked(as: Urgency(rawValue: urgency)))
      slots[Int(urgency)] = known?.slot ?? NewestStates.none
    }
    return slots
  }

  /// The place of the newest push that supersedes one with this state; −1 if none is known.
  private func newestPlace(superseding state: StateFacts, in states: NewestStates) -> Int64 {
    var place: Int64 = -1
    for urgency in 0..<Urgency.count where Urgency(rawValue: urgency).covers(state.urgency) {
      let known = states.find(state.tracked(as: Urgency(rawValue: urgency)))
      place = max(place, known?.position ?? -1)
    }
    return place
  }

  /// A push begins: the newest of its identity and urgency is known from now on.
  ///
  /// - Parameter underWay: the state of the push that was the newest before and is under way.
  mutating func begin(
    _ state: StateFacts, in slot: UInt32, underWay: StateFacts?
  ) -> StateVerdict {
    // The one that was moved most goes on: whatever comes of another has the id of a record that was read.
    if let underWay, state.push != 0, state.push == underWay.push, state.moves <= underWay.moves {
      return .repeated
    }
    let isUnknown =
      state.moves > 0 && (state.position <= states.forgotten || !isWindowWhole)
    var position = state.position
    if let newest = states.find(state.tracked), newest.push == state.push, state.push != 0 {
      // It came back from a retry topic, and only a repeat of its first record was read here: it is as new as that, and does
      // not end for it.
      position = max(position, newest.position)
    }
    var newest = newestPlace(superseding: state, in: states)
    // What comes back after the end of its activity tells nobody anything, whatever its urgency.
    if state.moves > 0 { newest = max(newest, states.find(state.end)?.position ?? -1) }
    guard position >= newest else { return .superseded }
    states.begin(state.tracked, at: position, in: slot, of: state.push)
    if state.isFinal { states.note(state.end, at: position, of: state.push) }
    return .newest(at: position, isUnknown: isUnknown)
  }

  /// The same of one with a collapse id that is no key yet.
  mutating func beginFresh(_ state: StateFacts, in slot: UInt32) {
    if state.position >= fresh.find(state.tracked)?.position ?? -1 {
      fresh.begin(state.tracked, at: state.position, in: slot)
    }
  }

  /// True if a newer push with a key, or a collapse id, was taken.
  func isSuperseded(_ state: StateFacts) -> Bool {
    if newestPlace(superseding: state, in: states) > state.position { return true }
    return state.isOfPile && newestPlace(superseding: state, in: fresh) > state.position
  }

  /// A push of the identity was at this place, before this assignment. While ids are missing it may have been a repeat of
  /// an older one, for which no newer push may end unsent.
  mutating func noteState(_ state: StateFacts, at position: Int64) {
    guard isWindowWhole else { return states.forget(through: position) }
    states.note(state.tracked, at: position, of: state.push)
    if state.isFinal { states.note(state.end, at: position, of: state.push) }
  }

  /// A push has taken the slot of an older one that it supersedes.
  mutating func moveState(_ newer: StateFacts, inPlaceOf older: StateFacts, to slot: UInt32) {
    states.end(older.tracked, in: slot)
    states.move(newer.tracked, to: slot)
  }

  /// A push is not under way any more.
  mutating func endState(_ state: StateFacts, in slot: UInt32) {
    if state.isFresh {
      fresh.end(state.tracked, in: slot)
    } else {
      states.end(state.tracked, in: slot)
    }
  }

  // MARK: Deduplication

  /// Whether a record is the first with its `apns-id` among the last ones.
  mutating func take(_ id: NotificationID, payload: UInt16) -> RecentIDs.Verdict {
    recent.take(id, payload: payload)
  }

  /// What an id was taken for has ended without being accepted.
  mutating func free(_ id: NotificationID) { recent.free(id, isReading: !isWindowWhole) }

  /// The ids of what the owner before took have been read again: the newest, or all that a window holds. Late
  /// ones count from now on.
  mutating func inherit(_ window: DedupWindow, isWhole: Bool) {
    recent.inherit(window, isWhole: isWhole)
    states.merge(window.states)
    guard isWhole else { return }
    windowDeadline = nil
    isWindowWhole = true
  }

  /// A record is given up unsent: its next owner must not take it for a repeat, and that may be this process.
  mutating func handBack(_ id: NotificationID) {
    handedBack += 1
    recent.remove(id)
  }

  /// The ids of what was completed here, for the case that the partition comes back; nil when they are not all
  /// known.
  ///
  /// - Parameter unfinished: the ids of what is still in flight, and comes again.
  mutating func keptWindow(without unfinished: [NotificationID]) -> DedupWindow? {
    // The id of a record whose outcome waits for Kafka's acknowledgement is not known any more.
    guard topicKind.isLane, isWindowWhole, open == handedBack + unfinished.count else {
      return nil
    }
    for id in unfinished { recent.remove(id) }
    var window = recent.merged()
    // What is unfinished comes again, and is no older than itself.
    window?.states = states.idle()
    return window
  }

  /// Begins without the ids that have not been read yet, if it has waited long enough for them.
  ///
  /// - Returns: whether it does so now.
  private mutating func goOnWithoutWindow(now: UInt64) -> Bool {
    guard let deadline = windowDeadline, now >= deadline else { return false }
    windowDeadline = nil
    return true
  }

  // MARK: What the control thread is told

  /// The progress that may be committed, if it is new; nil while nothing was read.
  mutating func news() -> PartitionDone? {
    guard let ledger,
      ledger.committable != told.committable || ledger.completions != told.completions
    else { return nil }
    told = (ledger.committable, ledger.completions)
    return done
  }

  /// The progress of the partition; nil while nothing was read.
  public var done: PartitionDone? {
    mutating get {
      guard let ledger else { return nil }
      let above = ledger.completedRuns(limit: bounds.runsAtMost)
      runs = above.count
      return PartitionDone(committable: ledger.committable, completedAbove: above)
    }
  }

  /// The widest jump of offsets since it was last asked for.
  mutating func drainJump() -> Range<Int64>? {
    defer { jump = nil }
    return jump
  }

  /// The changes since the last report.
  mutating func report(as index: Int, now: UInt64) -> PartitionReport {
    let isWithoutWindow = goOnWithoutWindow(now: now)
    return PartitionReport(
      partition: index, done: news(), jump: drainJump(), wentBackFrom: drainWentBackFrom(),
      isWithoutWindow: isWithoutWindow)
  }

  /// Adds its figures to those of all partitions.
  mutating func add(to gauges: inout PartitionGauges, reserve: Int, now: UInt64) {
    gauges.open += open
    gauges.runs += runs
    // A paused lane is not stuck.
    noteHead(now: now)
    if !isHeld { gauges.age = max(gauges.age, headAge(now: now)) }
    gauges.span = max(gauges.span, ledger?.span ?? 0)
    if windowDeadline == nil, allowance(reserve: reserve) == 0 { gauges.paused += 1 }
  }

  private mutating func noteHead(now: UInt64) {
    let committable = open > 0 ? ledger?.committable ?? -1 : -1
    if head.offset != committable { head = (committable, now) }
  }

  /// The time for which the oldest open record has kept the committable offset from moving, in milliseconds, to within
  /// the time between two reports; 0 when nothing is open.
  func headAge(now: UInt64) -> UInt64 {
    guard let ledger, ledger.incomplete > 0, head.offset == ledger.committable else { return 0 }
    return now - head.since
  }

  /// The partition's progress.
  func standing(now: UInt64) -> PartitionSnapshot {
    PartitionSnapshot(
      topicKind: topicKind, open: open, committable: ledger?.committable, headAge: headAge(now: now)
    )
  }
}
