// SPDX-License-Identifier: Apache-2.0

internal import Delivery

/// When pools, connections and credentials are looked after, because time alone changes something about them.
struct Upkeep: Sendable {
  /// Between two looks at pools and silent connections, in milliseconds.
  private static let interval: UInt64 = 20
  /// Between two looks at a pool where answers are all that is waited for, at those where nothing goes on, and at what
  /// waits and may have expired.
  private static let calmInterval: UInt64 = 100
  private static let roundInterval: UInt64 = 1_000
  private static let expiryInterval: UInt64 = 250

  /// When the next one of each is due, in monotonic milliseconds.
  private(set) var due: UInt64 = 0
  private var roundDue: UInt64 = 0
  private var expiryDue: UInt64 = 0
  private let connecting: Connecting
  private let sending: Sending

  init(_ connecting: Connecting, _ sending: Sending) {
    self.connecting = connecting
    self.sending = sending
  }

  /// - Returns: false when nothing is due yet.
  mutating func run(
    _ destinations: inout Destinations, _ work: inout Workload, _ turn: inout Turn
  ) -> Bool {
    guard turn.now >= due else { return false }
    due = turn.now + Self.interval
    lookAfterActive(&destinations, &work, &turn)
    connecting.giveRoom(&destinations.pools, &turn)
    if turn.now >= roundDue {
      roundDue = turn.now + Self.roundInterval
      for pool in destinations.pools.indices
      where !destinations.pools[pool].isRemoved && !destinations.pools[pool].isActive {
        lookAfter(pool, &destinations.pools, &work, &turn)
      }
      destinations.refreshCredentials(&work, &turn)
      connecting.closeIdlePools(&destinations.pools, &turn)
    }
    for pool in destinations.pools.removeRetired() { turn.append(.removePool(pool)) }
    if turn.now >= expiryDue {
      expiryDue = turn.now + Self.expiryInterval
      destinations.expireWaiting(&work, &turn)
    }
    return true
  }

  private func lookAfterActive(
    _ destinations: inout Destinations, _ work: inout Workload, _ turn: inout Turn
  ) {
    var waiting = destinations.credentials.waiting.count
    for pool in destinations.pools.takeActive() where !destinations.pools[pool].isRemoved {
      waiting += destinations.pools[pool].queue.count + destinations.pools[pool].apart.count
      if turn.now < destinations.pools[pool].lookAt, destinations.pools.isCalm(pool) {
        destinations.pools.activate(pool)
      } else {
        lookAfter(pool, &destinations.pools, &work, &turn)
      }
    }
    turn.set(.waiting, waiting)
  }

  /// Opens and closes connections as the pool's policy says, looks after silent ones, and sends what can be sent.
  private func lookAfter(
    _ pool: Int32, _ pools: inout Pools, _ work: inout Workload, _ turn: inout Turn
  ) {
    pools[pool].look(next: turn.now + Self.calmInterval)
    connecting.watch(pool, &pools, &turn)
    if !pools[pool].apart.isEmpty { sending.bringBack(pool, &pools, work, now: turn.now) }
    if !pools[pool].isRetired { connecting.maintain(pool, &pools, &turn) }
    if !pools[pool].queue.isEmpty { sending.dispatch(pool, &pools, &work, &turn) }
    if !pools.isSettled(pool) { pools.activate(pool) }
  }
}
