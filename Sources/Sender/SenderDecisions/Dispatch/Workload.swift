// SPDX-License-Identifier: Apache-2.0

import ConsumerGroup
internal import Contract

/// The pushes that the loop works on, from being taken to their ends, and what they take up meanwhile: a slot, a part of
/// their destination's share, an open offset of their partition, their device's turn.
///
/// Here a push begins and ends; between that, the `Dispatcher` decides where it goes.
struct Workload: Sendable {
  /// The output of all that decides: actions and counts.
  var turn: Turn
  private(set) var pushes: PushStates
  private(set) var partitions = Partitions()
  /// Outcomes and other records that Kafka has not acknowledged yet.
  private(set) var unacknowledged = 0
  private(set) var shares: Shares
  private(set) var devices = Devices()
  private(set) var throttled = ThrottleTable()
  /// Whose turn it is: of a device where order is kept, else of an identity whose newest state wins.
  private(set) var order: DeviceOrder
  /// What an operator has paused.
  private(set) var pauses: Pauses
  /// The paces that an operator has set.
  private(set) var paces: PaceKeeper
  let laneShares: LaneShares
  let settings: DispatchSettings

  init(_ settings: DispatchSettings, _ turn: Turn) {
    self.turn = turn
    self.settings = settings
    pushes = PushStates(most: settings.maxInFlight, timeout: settings.requestTimeout)
    shares = Shares(slots: settings.maxInFlight, openAtMost: settings.partitionBounds.openAtMost)
    order = DeviceOrder(
      slots: PushStates.slots(for: settings.maxInFlight),
      waitingAtMost: max(1, settings.maxInFlight / 8))
    pauses = Pauses(settings.lanes)
    paces = PaceKeeper(slots: settings.maxInFlight, lanes: settings.lanes.count)
    laneShares = LaneShares(settings.lanes)
  }

  /// Slots that nobody holds.
  var freeSlots: Int { settings.maxInFlight - pushes.count }

  /// What may be sent has changed.
  ///
  /// - Returns: the pushes that waited for a pace, to be routed again.
  mutating func update(_ change: ControlChange) -> [UInt32] {
    var slots: [UInt32] = []
    switch change {
    case .pauses(let pauses):
      if pauses.campaigns != self.pauses.campaigns { slots = paces.drain() }
      self.pauses = pauses
    case .paces(let paces):
      pushes.forgetLanes { paces[$0] == nil }
      slots = self.paces.update(paces, now: turn.now)
      // Without a pace in force nobody looks again.
      turn.set(.waitingForPace, self.paces.waiting)
    case .partitions(let totals): paces.update(totals, now: turn.now)
    case .devices(let news): devices.update(news, now: turn.now)
    }
    for slot in slots { pushes[slot].resume() }
    return slots
  }

  // MARK: Partitions

  /// A partition is the loop's now, and has this number until all are given back.
  mutating func granted(_ start: GrantedPartition) -> Int {
    shares.partitionAdded()
    paces.granted(start.topicKind, now: turn.now)
    return partitions.add(
      PartitionState(start, bounds: settings.partitionBounds, window: settings.dedupWindow))
  }

  /// A window of `apns-id`s has been rebuilt; if its partition waits for all of it, it begins to be read.
  mutating func inherit(_ window: DedupWindow, by partition: Int, isWhole: Bool) {
    partitions[partition].inherit(window, isWhole: isWhole)
    if isWhole { turn.count(.dedupRebuilds) }
  }

  /// Kafka has what a push, or a record that was none, ended in.
  mutating func acknowledged(_ origin: Origin) {
    unacknowledged -= 1
    partitions.acknowledged(origin)
  }

  /// The progress that may be committed, and anomalies.
  mutating func report() -> [PartitionReport] { partitions.report(reserve: shares.reserve, &turn) }

  /// The partitions are asked back: drops the records that were read before they were due, and what waits for a pace.
  ///
  /// - Parameter isLast: nothing is given to the loop afterwards.
  mutating func drain(until deadline: UInt64, isLast: Bool) {
    partitions.drain(until: deadline, isLast: isLast)
    for index in partitions.indices {
      if let early = partitions[index].drainEarly() { handBack(early) }
    }
    for slot in paces.drain() { handBack(slot) }
  }

  /// Gives the partitions back.
  mutating func handOver() -> [HandedOverPartition] {
    let given = partitions.handOver(
      unfinished: partitions.isStopping ? [] : pushes.ids(of: partitions))
    shares.removePartitions()
    paces.removePartitions(now: turn.now)
    turn.count(.leftUnderWay, given.reduce(0) { $0 + $1.underWay })
    return given
  }

  /// The number of records that may be taken from a partition now, as far as it alone is concerned.
  mutating func allowance(of index: Int) -> Int {
    let allowance = partitions[index].allowance(reserve: shares.reserve)
    guard allowance > 0, shares.isPaused(index) else { return allowance }
    let left = partitions[index].allowance()
    return shares.staysPaused(index, free: freeSlots, left: left) ? 0 : allowance
  }

  /// A turn's intake begins: `known` destinations that pushes may be for, if they were counted again.
  mutating func beginIntake(known: Int?) {
    shares.turn(known: known, free: freeSlots, now: turn.now)
    if paces.isInForce { paces.fill(now: turn.now) }
  }

  /// A destination has answered about a push.
  mutating func answered(_ destination: Int32) { shares.answered(destination) }

  // MARK: A push begins

  /// A record that an earlier assignment completed: a later one with its id is still a repeat, and an older one with its key
  /// is superseded, unless it was a repeat itself.
  mutating func remember(
    _ id: NotificationID, payload: UInt16, _ state: StateFacts, at offset: Int64,
    from partition: Int
  ) {
    guard !partitions[partition].isRetry,
      partitions[partition].take(id, payload: payload) == .first, state.hasIdentity
    else { return }
    let position = NewestStates.position(ofFirst: state.position, at: offset)
    partitions[partition].noteState(state, at: position)
  }

  /// A record says that an id is free again, which is all that it is for.
  mutating func free(_ id: NotificationID, at offset: Int64, from partition: Int) {
    let admission = partitions[partition].admit(offset)
    partitions[partition].free(id)
    if case .new = admission { partitions[partition].acknowledged(offset) }
  }

  /// A record comes: whether it is to be worked on.
  mutating func admit(_ offset: Int64, from partition: Int) -> OffsetLedger.Admission {
    let admission = partitions[partition].admit(offset)
    if case .new = admission { turn.count(.taken) }
    return admission
  }

  /// Takes a notification in.
  ///
  /// - Returns: its slot, and whether it goes on now: not if it has ended, or is not due yet.
  mutating func accept(
    _ facts: PushFacts, offset: Int64, from index: Int, written: Int64
  ) -> (slot: UInt32, shouldRoute: Bool) {
    devices.noteRecord(written: written, wall: turn.wall)
    let slot = pushes.take(partitions[index].sendClass, earlier: facts.attempt)
    pushes[slot].fill(
      facts, Origin(partition: Int32(index), epoch: partitions.epoch, offset: offset),
      maxAge: settings.lanes.maxAge(facts.lane),
      kind: settings.gatewayKind(facts.environment, facts.target))
    if facts.state.identity != 0 { pushes.beginKey(slot) }
    if facts.waitedSince != 0 { pushes[slot].takeUp(facts.waitedSince, turn) }
    if paces.isInForce, case .lane(let lane) = partitions[index].topicKind {
      pushes[slot].count(forLane: paces.took(lane))
    }
    var due: UInt64 = 0
    if partitions[index].isRetry {
      let random = turn.chance()
      due = partitions[index].due(written: written, wall: turn.wall, now: turn.now, random: random)
    } else if pauses.hasLanes, isPaused(index) {
      due = .max
    }
    let standing = partitions[index].take(facts.dedupKey, payload: facts.payload)
    if standing != .first {
      finish(slot, .deduplicated, standing == .repeated ? .repeatedID : .otherPayload)
    } else if due > turn.now {
      pushes[slot].hold()
      partitions[index].keep(slot, until: due)
    } else {
      return (slot, shouldRoute(slot))
    }
    return (slot, false)
  }

  /// A record that is no notification has ended in a dead letter, whose acknowledgement completes this.
  mutating func acceptUnreadable(_ offset: Int64, from partition: Int) -> Origin {
    turn.count(.deadLettered)
    turn.count(.invalidRecords)
    unacknowledged += 1
    return Origin(partition: Int32(partition), epoch: partitions.epoch, offset: offset)
  }

  /// The record that was read before it was due, once it is, or its lane is not paused any more; unless it goes back to its
  /// lane.
  mutating func popDue(of index: Int) -> UInt32? {
    let isResumed = partitions[index].isHeld && !isPaused(index)
    guard let slot = partitions[index].popDue(isResumed ? .max : turn.now) else { return nil }
    pushes[slot].resume()
    return shouldRoute(slot) ? slot : nil
  }

  /// True if a push whose record is due is to be routed. One with a key may be superseded here, take the place of an older
  /// one, or go back from a retry topic to its lane.
  private mutating func shouldRoute(_ slot: UInt32) -> Bool {
    guard pushes.hasState(slot), let index = partitions.place(of: pushes[slot].origin) else {
      return true
    }
    if partitions[index].isRetry { return !pushes.hasKey(slot) || !returnsToLane(slot) }
    switch partitions[index].settle(slot, &pushes, order, isOrdered: settings.isOrdered, &turn) {
    case .goesOn: return true
    case .repeated: finish(slot, .deduplicated, .repeatedID)
    case .superseded: finish(slot, .superseded, .newerState)
    }
    return false
  }

  /// Whose retry topic this is does not know what has been sent since: the owner of its lane's partition does. One from a
  /// version that knew no keys is sent as it was.
  private mutating func returnsToLane(_ slot: UInt32) -> Bool {
    guard pushes[slot].state.position >= 0 else {
      pushes.endKey(slot)
      pushes[slot].dropState()
      return false
    }
    giveToLane(slot, from: nil)
    return true
  }

  // MARK: Paces

  /// Finds the pushes whose time has come.
  mutating func releasePaced() {
    guard paces.isInForce else { return }
    paces.release(now: turn.now)
    turn.set(.waitingForPace, paces.waiting)
    turn.set(.forgottenDevices, paces.devices.forgotten)
  }

  /// True if a push that has a stream may go by the paces of its lane, app, group and device; it counts for them. One
  /// that may not waits, or is moved aside. To be asked only if any is in force.
  mutating func keepsPace(_ slot: UInt32) -> Bool {
    let topic = partitions.retryTopic(of: pushes[slot].origin)
    let (isRetry, now, wall) = (topic != nil, turn.now, turn.wall)
    switch paces.decide(slot, &pushes[slot], isRetry: isRetry, now: now, wall: wall) {
    case .goes:
      leaveLane(slot, counts: true)
      return true
    case .waits:
      hold(slot, for: -1)
      pushes[slot].awaitPace()
    case .aside(let tier, let reason): park(slot, tier, reason)
    case .returns: giveToLane(slot, from: topic)
    }
    return false
  }

  /// It counts for its lane's pace no longer, if it did.
  mutating func leaveLane(_ slot: UInt32, counts: Bool) {
    guard pushes[slot].countsForLane else { return }
    pushes[slot].count(forLane: false)
    if let lane = pushes[slot].life.sendClass.lane { paces.left(lane, counts: counts) }
  }

  /// A push that counted never reached APNs.
  private mutating func unsend(_ slot: UInt32) {
    guard paces.isInForce, pushes[slot].life.attempts == 0 else { return }
    paces.giveBack(pushes[slot])
    if let lane = pushes[slot].life.sendClass.lane, partitions.hasNow(pushes[slot].origin) {
      pushes[slot].count(forLane: paces.cameBack(lane))
    }
  }

  // MARK: What it holds

  /// True if a push may wait for a destination; no: it is to be moved aside.
  mutating func admits(_ slot: UInt32, to destination: Int32) -> Bool {
    let partition = partitions.place(of: pushes[slot].origin)
    var left = 0
    if shares.isDiverting, let partition { left = partitions[partition].allowance() }
    return shares.admits(destination, free: freeSlots, partition: partition, left: left)
  }

  /// The push takes a slot of this destination from now on, of no other; −1: of none.
  mutating func hold(_ slot: UInt32, for destination: Int32) {
    let before = pushes[slot].count(for: destination)
    guard before != destination else { return }
    let partition = partitions.place(of: pushes[slot].origin)
    shares.moved(from: before, to: destination, partition: partition)
  }

  /// True if a push may go now; if not it waits for the one before it, or its device has too many.
  mutating func takeTurn(_ slot: UInt32) -> Bool {
    let device = settings.isOrdered ? pushes[slot].device : pushes[slot].state.identity
    switch order.enter(slot, device: device) {
    case .goes:
      pushes[slot].beginTurn()
      return true
    case .waits: pushes[slot].hold()
    case .refused: divert(slot, .order)
    }
    return false
  }

  /// The next push for which there is room in its pace, or whose device's turn has come.
  mutating func nextTurn() -> UInt32? {
    guard let slot = paces.nextReady() ?? order.nextTurn() else { return nil }
    pushes[slot].resume()
    return slot
  }

  // MARK: What happens to it

  /// Tells a push what happens to it.
  @inline(__always)
  mutating func tell(_ slot: UInt32, _ event: (inout PushState) -> Void) { event(&pushes[slot]) }

  /// It goes out on a connection.
  mutating func send(_ slot: UInt32, on connection: ConnectionID) {
    pushes.open(slot, on: connection, now: turn.now, wall: turn.wall)
    turn.append(.send(slot: slot, connection))
  }

  /// The next push whose answer has taken too long; nil when there is none.
  mutating func timeOut() -> UInt32? {
    guard let slot = pushes.timeOut(now: turn.now) else { return nil }
    turn.count(.timedOut)
    return slot
  }

  /// Its stream on this connection has ended; unprocessed: it never reached APNs, and is neither a send nor an attempt.
  mutating func close(_ slot: UInt32, isUnprocessed: Bool = false) -> ConnectionID {
    defer { if isUnprocessed { unsend(slot) } }
    return pushes.close(slot, isUnprocessed: isUnprocessed)
  }

  /// It could not be sent after all.
  mutating func takeBack(_ slot: UInt32) -> ConnectionID {
    defer { unsend(slot) }
    return pushes.takeBack(slot)
  }

  /// APNs throttles its device for so many milliseconds.
  mutating func throttleDevice(of slot: UInt32, for wait: UInt64) {
    throttled.throttle(pushes[slot].device, until: turn.now + wait)
  }

  // MARK: It ends

  /// APNs has accepted it.
  mutating func delivered(_ slot: UInt32, by destination: Int32) {
    shares.answered(destination)
    // To hand the push over is to copy all of it.
    if devices.hasInvalid(now: turn.now) { devices.accepted(pushes[slot], now: turn.now) }
    turn.count(.delivered)
    turn.append(.delivered(slot: slot, pushes.ending(slot)))
    leave(slot)
  }

  /// Ends a push that was rejected for its device token.
  mutating func rejectToken(_ slot: UInt32, _ answer: GatewayResponse) {
    if answer.isAboutInvalidToken { devices.invalidated(pushes[slot], now: turn.now) }
    turn.count(.rejected)
    turn.append(.feedback(slot: slot, answer))
    leave(slot)
  }

  /// Drops a push unsent: its partition's next owner sends the record.
  mutating func handBack(_ slot: UInt32) {
    turn.count(.handedBack)
    partitions.handBack(pushes[slot].origin, pushes[slot].dedupKey)
    turn.append(.handBack(slot: slot))
    free(slot)
  }

  /// A push ends in a record that Kafka is to acknowledge.
  mutating func leave(_ slot: UInt32) {
    unacknowledged += 1
    free(slot)
  }

  /// Frees the slot, and what the push had taken up. If it had its device's turn, the next one's begins.
  private mutating func free(_ slot: UInt32) {
    if pushes.hasState(slot) {
      if let index = partitions.place(of: pushes[slot].origin) {
        partitions[index].endState(pushes[slot].state, in: slot)
      }
      pushes.endKey(slot)
    }
    leaveLane(slot, counts: false)
    if pushes[slot].endTurn(), let next = order.leave(slot) { pushes[next].beginTurn() }
    hold(slot, for: -1)
    pushes.put(slot)
  }
}
