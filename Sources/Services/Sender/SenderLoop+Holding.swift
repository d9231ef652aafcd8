// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Pipeline
import ServiceKit

/// Why a push went to a retry topic unsent, as the record's last reason.
enum HoldReason {
  /// Its destination holds more than its share of the loop.
  static let share: StaticString = "held"
  /// Nobody has a provider token for it.
  static let credential: StaticString = "no credential"
  /// APNs throttles its device.
  static let device: StaticString = "TooManyRequests"
  /// Too many pushes of its device wait for their turn.
  static let order: StaticString = "device busy"
}

/// What keeps one destination or device from slowing the others: bounded shares of the loop's slots, devices
/// that APNs throttles, and turns of devices whose order is kept.
extension SenderLoop {
  /// Slots that nobody holds.
  var freeSlots: Int { settings.maxInFlight - pushes.count }

  /// Slots that retries and bulk may hold together.
  var slotsForOthers: Int {
    settings.maxInFlight - settings.maxInFlight * settings.reservedPercent / 100
  }

  /// Outcomes that may wait for Kafka's acknowledgement before intake stops.
  var unacknowledgedAtMost: Int { max(20_000, 4 * settings.maxInFlight) }

  /// What these may hold in bytes: retries and dead letters carry whole notifications.
  static let unacknowledgedBytesAtMost = 16 << 20

  /// Looks at every destination's share of the slots, once a turn.
  func reviewShares(canDivert: Bool) {
    let free = freeSlots
    let seen = pools.reduce(0) { $0 + ($1 == nil ? 0 : 1) }
    isAlone =
      seen <= 1 && book.entries.count + certificates.entries.count <= 1
      && (seen == 0 || unresolved.isEmpty)
    isHeldUp = false
    for pool in pools {
      guard let pool else { continue }
      let held = pool.waiting.held
      if held < pool.crowding / 2 { pool.crowding = 0 }
      let bound = SlotShare.bound(free: free)
      let decision = pool.share.decide(
        held: held, bound: pool.crowding > 0 ? min(bound, held) : bound, isAlone: isAlone,
        canDivert: canDivert, now: now)
      pool.diverts = decision == .divert
      if decision == .wait { isHeldUp = true }
    }
    // Without any provider token at all the signer is not there yet: everything waits in Kafka.
    let held = unresolved.count
    if held < unresolvedCrowding / 2 { unresolvedCrowding = 0 }
    let bound = SlotShare.bound(free: free)
    let decision = unresolvedShare.decide(
      held: held, bound: unresolvedCrowding > 0 ? min(bound, held) : bound, isAlone: false,
      canDivert: canDivert && !(book.entries.isEmpty && certificates.isEmpty), now: now)
    divertsUnresolved = decision == .divert
    if decision == .wait { isHeldUp = true }
  }

  /// Whether a destination holds as many slots as it may, or crowds the partition of a push that comes for it.
  func isOverShare(_ pool: GatewayPool, _ origin: Origin) -> Bool {
    let held = pool.waiting.held
    if held >= SlotShare.bound(free: freeSlots) || pool.crowding > 0 { return true }
    if crowds(held, origin) { pool.crowding = held }
    return pool.crowding > 0
  }

  /// The same for the pushes that wait for a credential.
  func isUnresolvedOverShare(_ origin: Origin) -> Bool {
    let held = unresolved.count
    if held >= SlotShare.bound(free: freeSlots) || unresolvedCrowding > 0 { return true }
    if crowds(held, origin) { unresolvedCrowding = held }
    return unresolvedCrowding > 0
  }

  private func crowds(_ held: Int, _ origin: Origin) -> Bool {
    let most = settings.partitionBounds.openAtMost
    // Few enough are never in the way: the usual case costs one comparison.
    guard held > most / 32, origin.epoch == epochOfPartitions else { return false }
    return SlotShare.crowds(
      held: held, left: partitions[Int(origin.partition)].allowance, of: most)
  }

  /// Moves a push to a retry topic, unsent, to look at it again later. No attempt is counted.
  func divert(_ slot: UInt32, _ reason: StaticString) {
    let age = wall - pushes[slot].pointee.envelope.created
    hold(slot, SlotShare.tier(age: age), reason)
  }

  /// The same with the topic chosen by the caller.
  func hold(_ slot: UInt32, _ tier: RetryTier, _ reason: StaticString) {
    counters.add(.held)
    park(slot, tier, reason: UnsafeRawBufferPointer(reason))
  }

  // MARK: Throttled devices

  /// APNs throttles the device: nothing goes to it before the tier's time is over.
  func throttle(_ slot: UInt32, milliseconds: Int64) {
    deviceHolds.hold(deviceHash(slot), until: now + UInt64(milliseconds))
  }

  /// Moves a push to a retry topic if its device is throttled.
  func isThrottled(_ slot: UInt32) -> Bool {
    let remaining = Int64(deviceHolds.remaining(deviceHash(slot), now: now))
    // The throttled push itself comes back about when the time is over, by another clock.
    let isDue = pushes[slot].pointee.life.sendClass == .retry && remaining < 1_000
    guard remaining > 0, !isDue else { return false }
    hold(slot, RetryTier.fitting(remaining), HoldReason.device)
    return true
  }

  private func deviceHash(_ slot: UInt32) -> UInt64 {
    DeviceHash.of(pushes[slot].pointee.token.bindMemory(to: UInt8.self).span)
  }

  // MARK: Order of each device

  /// Whether a push may go now; if not it waits for the one before it, or its device has too many.
  func takeTurn(_ slot: UInt32) -> Bool {
    switch order!.enter(slot, device: deviceHash(slot)) {
    case .goes:
      pushes[slot].pointee.hasTurn = true
      return true
    case .waits: pushes[slot].pointee.life.putAside()
    case .refused: divert(slot, HoldReason.order)
    }
    return false
  }

  /// A push that had its device's turn has ended: the next one's begins.
  func passTurn(_ slot: UInt32) {
    pushes[slot].pointee.hasTurn = false
    guard let next = order!.leave(slot) else { return }
    pushes[next].pointee.hasTurn = true
    turns.append(next)
  }

  /// Lets the pushes go whose turn has come.
  func takeTurns() {
    while let slot = turns.popFirst() {
      let push = pushes[slot]
      push.pointee.life.resume()
      guard isFeeding, push.pointee.origin.epoch == epochOfPartitions else {
        handBack(slot)
        continue
      }
      route(slot)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The bytes of a constant text.
  init(_ text: StaticString) {
    self.init(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }
}
