// SPDX-License-Identifier: Apache-2.0

internal import APNS
package import Delivery
internal import Pipeline
import Random

/// One loop of the sender as a value: it is told what happens and says what is to be done.
///
/// Each verb is an event: a record was taken, a push was accepted or refused, a connection ended, a token came, Kafka
/// acknowledged, partitions were given or asked back, time went by. What is to be done follows in `actions`, which name
/// slots, connections and pools by number. The owner performs them before it tells the next event. It holds the bytes,
/// the sockets and Kafka's handles; nothing here knows them, or a clock: `beginTurn` tells the time.
///
/// The way of a push: `nextTake` asks for a record, `accept` gives it a slot and routes it into its pool's line,
/// `dispatch` sends it, `accepted`, `refused` or `unanswered` ends it in a receipt, a retry or a dead letter, and
/// `acknowledged` completes its offset.
package struct Dispatcher: ~Copyable, Sendable {
  package let settings: DispatchSettings
  /// Monotonic and wall-clock milliseconds of this turn.
  package private(set) var now: UInt64
  package private(set) var wall: Int64
  /// What is to be done, in this order.
  package var actions = ActionQueue()
  package internal(set) var counts = Counts()

  package internal(set) var pushes: PushStates
  package internal(set) var partitions = Partitions()
  package internal(set) var pools: Pools
  package internal(set) var credentials: Credentials
  var shares: Shares
  var devices: Devices
  /// What an operator has paused.
  var pauses = Pauses()
  var intake = IntakeCursor()
  var schedule = Schedule()
  var random: SeededGenerator

  /// When things are due that time alone makes due, in monotonic milliseconds.
  struct Schedule: Sendable {
    var upkeep: UInt64 = 0
    var round: UInt64 = 0
    var expiry: UInt64 = 0
    var report: UInt64 = 0
  }

  /// - Parameters:
  ///   - certificates: the client certificates that there are.
  ///   - now: monotonic milliseconds.
  ///   - wall: milliseconds since the epoch.
  ///   - seed: of the jitter.
  package init(
    _ settings: DispatchSettings, certificates: [CertificateBook.Entry] = [], now: UInt64,
    wall: Int64, seed: UInt64
  ) {
    self.settings = settings
    self.now = now
    self.wall = wall
    credentials = Credentials(certificates: CertificateBook(certificates, now: wall / 1_000))
    pushes = PushStates(most: settings.maxInFlight, timeout: settings.requestTimeout)
    pools = Pools(limits: settings.budget)
    shares = Shares(
      slots: settings.maxInFlight, openAtMost: settings.partitionBounds.openAtMost)
    devices = Devices(settings)
    random = SeededGenerator(seed: seed)
  }

  /// A turn of the owner begins: the time of all that it tells until the next one.
  package mutating func beginTurn(now: UInt64, wall: Int64) {
    self.now = now
    self.wall = wall
  }

  /// Whether the loop feeds: it has its partitions and nobody has asked for them back.
  package var isFeeding: Bool { partitions.isFeeding }

  /// When something is due that time alone makes due, in monotonic milliseconds.
  package var nextDue: UInt64 {
    if !credentials.backlog.isEmpty { return now }
    var due = schedule.report
    if let next = pushes.nextTimeOut { due = min(due, next) }
    if let next = partitions.nextRetryDue { due = min(due, next) }
    if !credentials.waiting.isEmpty || pools.hasActive { due = min(due, schedule.upkeep) }
    return due
  }

  // MARK: From a slot to a line

  /// Decides where a push goes from here: in line, aside, or to its end.
  mutating func route(_ slot: UInt32) {
    if pushes[slot].isExpired(at: wall) { return expire(slot) }
    if devices.mayBeDead(now: now), suppressIfDead(slot) { return }
    if devices.mayThrottle(now: now), parkIfThrottled(slot) { return }
    if pauses.hasApps, divertIfPaused(slot) { return }
    guard let credential = credentials.credential(for: pushes[slot]) else {
      requestAppToken(slot)
      guard hold(slot, forAllowed: Int32(Fairness.noCredential), .credential) else { return }
      return waitForCredential(slot)
    }
    let pool = pool(of: credential, pushes[slot].kind)
    guard hold(slot, forAllowed: Pool.destination(pool), .share) else { return }
    enqueue(slot, pool)
  }

  /// Holds a push for a destination, if that may hold one more, and if it is its device's turn. A push that waits for its
  /// turn counts for it, too: or an app that hangs would have all slots with what waits behind its open pushes.
  ///
  /// - Returns: false when it has been moved aside, or waits for its turn.
  private mutating func hold(
    _ slot: UInt32, forAllowed destination: Int32, _ reason: ParkReason
  ) -> Bool {
    if pushes[slot].destination != destination {
      guard admits(slot, to: destination) else {
        divert(slot, reason)
        return false
      }
      hold(slot, for: destination)
    }
    return !devices.isOrdered || pushes[slot].hasTurn || takeTurn(slot)
  }

  /// Puts a push in line at its pool.
  mutating func enqueue(_ slot: UInt32, _ pool: Int32) {
    hold(slot, for: Pool.destination(pool))
    pools.touch(pool)
    pushes[slot].life.wait()
    pools[pool].queue.append(slot, pushes[slot].life.sendClass)
  }

  // MARK: Ends

  /// Ends a push with a receipt.
  mutating func finish(
    _ slot: UInt32, _ outcome: Outcome, _ cause: ReceiptCause? = nil, isAnswered: Bool = false
  ) {
    counts[outcome.counter] += 1
    actions.append(.receipt(slot: slot, outcome, cause, isAnswered: isAnswered))
    leave(slot)
  }

  /// Ends a push that is of no more use.
  mutating func expire(_ slot: UInt32, isAnswered: Bool = false) {
    let cause: ReceiptCause = pushes[slot].expiresAt <= wall ? .expiration : .age
    finish(slot, .expired, cause, isAnswered: isAnswered)
  }

  /// Ends a push that cannot be delivered.
  mutating func deadLetter(
    _ slot: UInt32, _ reason: DeadLetterReason, _ cause: ReceiptCause, isAnswered: Bool = false
  ) {
    counts[.deadLettered] += 1
    actions.append(.deadLetter(slot: slot, reason, cause, isAnswered: isAnswered))
    leave(slot)
  }

  /// Moves a push to a retry topic.
  mutating func park(_ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason) {
    counts[reason == .failure ? .retried : .diverted] += 1
    actions.append(.park(slot: slot, tier, reason))
    leave(slot)
  }

  /// Moves a push to a retry topic, unsent, to look at it again later. No attempt is counted.
  mutating func divert(_ slot: UInt32, _ reason: ParkReason) {
    park(slot, Fairness.tier(age: wall - pushes[slot].created), reason)
  }

  /// Moves a push to a retry topic if its app is paused. Nothing of such an app waits here: whoever shares its credential
  /// is not kept waiting by it.
  mutating func divertIfPaused(_ slot: UInt32) -> Bool {
    guard pauses.contains(app: pushes[slot].app, pushes[slot].kind.environment) else {
      return false
    }
    divert(slot, .paused)
    return true
  }

  /// An operator has paused or resumed apps or lanes: this is what is paused now. What is under way goes on.
  package mutating func pausesCame(_ pauses: Pauses) { self.pauses = pauses }

  /// Drops a push unsent: its partition's next owner sends the record.
  mutating func handBack(_ slot: UInt32) {
    counts[.handedBack] += 1
    partitions.handBack(pushes[slot].origin, pushes[slot].takenID)
    actions.append(.handBack(slot: slot))
    free(slot)
  }

  /// A push ends in a record that Kafka is to acknowledge.
  mutating func leave(_ slot: UInt32) {
    partitions.ended()
    free(slot)
  }

  private mutating func free(_ slot: UInt32) {
    if pushes[slot].hasTurn { passTurn(slot) }
    release(slot)
    pushes.put(slot)
  }

  // MARK: Shares of destinations

  /// Whether a push may wait for a destination; no: it is to be moved aside.
  private mutating func admits(_ slot: UInt32, to destination: Int32) -> Bool {
    let partition = partitions.place(of: pushes[slot].origin)
    var left = 0
    if shares.isDiverting, let partition { left = partitions[partition].allowance() }
    return shares.admits(destination, free: freeSlots, partition: partition, left: left)
  }

  /// Slots that nobody holds.
  var freeSlots: Int { settings.maxInFlight - pushes.count }

  /// The push takes a slot of this destination from now on, of no other.
  mutating func hold(_ slot: UInt32, for destination: Int32) {
    guard pushes[slot].destination != destination else { return }
    release(slot)
    pushes[slot].destination = destination
    shares.took(destination, partition: partitions.place(of: pushes[slot].origin))
  }

  /// The push gives its slot back.
  private mutating func release(_ slot: UInt32) {
    let destination = pushes[slot].destination
    guard destination >= 0 else { return }
    pushes[slot].destination = -1
    shares.released(destination, partition: partitions.place(of: pushes[slot].origin))
  }

  /// Moves aside what a stuck destination holds over its share.
  mutating func shed() {
    guard let (destination, surplus) = shares.fairness.crowded else { return }
    for _ in 0..<surplus {
      if destination == Fairness.noCredential {
        guard let slot = credentials.waiting.popFirst() else { return }
        divert(slot, .credential)
      } else {
        guard let slot = pools[Int32(destination) - 1].queue.popLeast() else { return }
        divert(slot, .share)
      }
    }
  }

  // MARK: Devices

  /// Ends a push unsent if APNs has called its device dead since it was requested.
  mutating func suppressIfDead(_ slot: UInt32) -> Bool {
    guard pushes[slot].target == .device, devices.isDead(pushes[slot], now: now) else {
      return false
    }
    finish(slot, .suppressed, .recentlyInvalid)
    return true
  }

  /// Moves a push to a retry topic if its device is throttled.
  mutating func parkIfThrottled(_ slot: UInt32) -> Bool {
    let remaining = devices.pause(pushes[slot].device, now: now)
    // The throttled push itself comes back about when the time is over, by another clock.
    let isDue = pushes[slot].life.sendClass == .retry && remaining < 1_000
    guard remaining > 0, !isDue else { return false }
    park(slot, RetryTier.fitting(remaining), .device)
    return true
  }

  /// Whether a push may go now; if not it waits for the one before it, or its device has too many.
  private mutating func takeTurn(_ slot: UInt32) -> Bool {
    switch devices.enter(slot, device: pushes[slot].device) {
    case .goes:
      pushes[slot].hasTurn = true
      return true
    case .waits: pushes[slot].life.putAside()
    case .refused: divert(slot, .order)
    }
    return false
  }

  /// A push that had its device's turn has ended: the next one's begins.
  private mutating func passTurn(_ slot: UInt32) {
    pushes[slot].hasTurn = false
    if let next = devices.leave(slot) { pushes[next].hasTurn = true }
  }

  /// Lets the pushes go whose device's turn has come.
  package mutating func takeTurns() {
    while let slot = devices.nextTurn() {
      pushes[slot].life.resume()
      if isFeeding, partitions.hasNow(pushes[slot].origin) { route(slot) } else { handBack(slot) }
    }
  }
}
