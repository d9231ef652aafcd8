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
  /// APNs refuses its app, and serves others with the same credential.
  static let app: StaticString = "app refused"
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

  // MARK: Destinations

  /// Begins a turn's intake: who is stuck, and whether the one that stopped the intake still does.
  func reviewFairness(canDivert: Bool) {
    if hasNewDestinations {
      hasNewDestinations = false
      knownDestinations = countDestinations()
    }
    fairness.turn(known: knownDestinations, canDivert: canDivert, now: now)
    guard let destination = heldUpBy else { return }
    if fairness.decide(Int(destination), free: freeSlots) != .wait { heldUpBy = nil }
  }

  /// Pools, and credentials that have none yet.
  private func countDestinations() -> Int {
    func hasNone(_ places: [Int32], _ index: Int) -> Bool {
      GatewayKind.allCases.allSatisfy {
        $0.place(index) >= places.count || places[$0.place(index)] < 0
      }
    }
    var count = pools.count { $0.map { !$0.isRetired } ?? false }
    for index in book.entries.indices where book.isKnown(index) && hasNone(tokenPools, index) {
      count += 1
    }
    for index in certificates.entries.indices where hasNone(certificatePools, index) { count += 1 }
    return count
  }

  /// Whether a push may wait for a destination; no: it is to be moved aside.
  func admits(_ slot: UInt32, to destination: Int32) -> Bool {
    let origin = pushes[slot].pointee.origin
    let isPartitionAsked = fairness.isDiverting && origin.epoch == epochOfPartitions
    let decision =
      isPartitionAsked
      ? decide(destination, partition: Int(origin.partition))
      : fairness.decide(Int(destination), free: freeSlots)
    switch decision {
    case .take: break
    case .wait: heldUpBy = destination
    case .pause: partitions[Int(origin.partition)].pausedBy = destination
    case .divert: return false
    }
    return true
  }

  private func decide(_ destination: Int32, partition index: Int) -> Fairness.Decision {
    fairness.decide(
      Int(destination), free: freeSlots, open: partitions[index].openBy[Int(destination)],
      left: partitions[index].allowance(), of: settings.partitionBounds.openAtMost)
  }

  /// How many records may be taken from a partition now, as far as it alone is concerned.
  func allowance(of index: Int) -> Int {
    let allowance = partitions[index].allowance(
      reserve: fairness.reserve(of: settings.partitionBounds.openAtMost))
    guard allowance > 0, let destination = partitions[index].pausedBy else { return allowance }
    guard decide(destination, partition: index) != .pause else { return 0 }
    partitions[index].pausedBy = nil
    return allowance
  }

  /// The push is held for this destination from now on, for no other.
  func hold(_ slot: UInt32, for destination: Int32) {
    let push = pushes[slot]
    guard push.pointee.destination != destination else { return }
    release(push)
    push.pointee.destination = destination
    fairness.took(Int(destination))
    let origin = push.pointee.origin
    guard origin.epoch == epochOfPartitions else { return }
    partitions[Int(origin.partition)].openBy.add(Int(destination))
  }

  /// The push is held for no destination any more.
  func release(_ push: UnsafeMutablePointer<Push>) {
    let destination = Int(push.pointee.destination)
    guard destination >= 0 else { return }
    push.pointee.destination = -1
    fairness.released(destination)
    let origin = push.pointee.origin
    guard origin.epoch == epochOfPartitions else { return }
    partitions[Int(origin.partition)].openBy.remove(destination)
  }

  /// Moves a push to a retry topic, unsent, to look at it again later. No attempt is counted.
  func divert(_ slot: UInt32, _ reason: StaticString) {
    let age = wall - pushes[slot].pointee.envelope.created
    hold(slot, Fairness.tier(age: age), reason)
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

  // MARK: Refused apps

  /// Takes a push out of the way that was handed out although its app has to wait: to a retry topic if the wait is
  /// long and others use the credential, else to the end of the line.
  func mustWait(
    _ slot: UInt32, _ push: UnsafeMutablePointer<Push>, _ pool: GatewayPool
  ) -> Bool {
    let app = appHash(push)
    let wait = Int64(pool.waiting.health.wait(app: app, now: now))
    guard wait > 0 else { return false }
    let sendClass = push.pointee.life.sendClass
    pool.waiting.ended(sendClass)
    if wait >= RetryTier.seconds5.delay, pool.waiting.health.servesOther(than: app) {
      hold(slot, RetryTier.fitting(wait), HoldReason.app)
    } else {
      pool.waiting.append(slot, sendClass)
    }
    return true
  }

  func appHash(_ push: UnsafeMutablePointer<Push>) -> UInt64 {
    DeviceHash.of(
      push.pointee.field(push.pointee.envelope.app).bindMemory(to: UInt8.self).span)
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
