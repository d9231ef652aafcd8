// SPDX-License-Identifier: Apache-2.0

internal import Delivery

/// The connections of all pools together stay within `ConnectionBudget`.
extension Dispatcher {
  /// Gives the room that there is to those in line, and has others give way if that is not enough.
  mutating func giveRoom() {
    while let pool = pools.nextWithRoom() {
      if !pools[pool].isRetired { maintain(pool, isNext: true) }
    }
    guard let yields = pools.yields(now: now) else { return }
    counts[.waitsForRoom] += 1
    for yield in yields {
      switch yield {
      case .all(let pool): closeAll(of: pool)
      case .one(let pool): closeIdlest(pool)
      }
    }
  }

  /// Closes pools that nothing has been sent through for long.
  mutating func closeIdlePools() {
    for pool in pools.idleTooLong(now: now) {
      counts[.closedIdle] += 1
      closeAll(of: pool)
    }
  }

  /// The pool's connections close as their streams end; it opens one when it has something to send.
  private mutating func closeAll(of pool: Int32) {
    pools[pool].health.rested()
    for number in pools[pool].connections where pools.connections[number].isStaying {
      perform(pools.connections[number].machine.retire(), on: number)
    }
    pools.activate(pool)
  }

  /// The connection with the fewest open streams closes as these end.
  mutating func closeIdlest(_ pool: Int32) {
    guard let idlest = pools.idlest(of: pool) else { return }
    perform(pools.connections[idlest].machine.retire(), on: idlest)
  }
}
