// SPDX-License-Identifier: Apache-2.0

internal import Delivery

/// The connections of all pools together stay within `ConnectionBudget`.
extension Dispatcher {
  /// Asks a pool's policy about one connection, with what the budget leaves to it.
  ///
  /// - Parameter isNext: its turn for the room that there is has come.
  mutating func decideConnections(of pool: Int32, isNext: Bool) -> ConnectionPoolPolicy.Action {
    let taken = pools.taken
    let hasRoom = isNext ? taken < budget.limits.most : budget.hasRoom(taken: taken)
    return pools.decide(pool, hasRoom: hasRoom, now: now)
  }

  /// There is no room for a connection. A pool that has one goes on with it.
  mutating func waitForRoom(_ pool: Int32) {
    let hasOne = pools[pool].connections.contains { pools.connections[$0].isStaying }
    guard !hasOne, pools[pool].lookups == 0 else { return }
    budget.wait(pool)
  }

  /// Gives the room that there is to those in line, and has others give way if that is not enough.
  mutating func giveRoom() {
    while let pool = budget.next(taken: pools.taken) {
      if !pools[pool].isRetired { maintain(pool, isNext: true) }
    }
    guard budget.isAwaited else { return }
    counts[.waitsForRoom] += 1
    let yields = budget.yields(
      pools.holders, taken: pools.taken, leaving: pools.connections.leaving, now: now)
    for yield in yields {
      switch yield {
      case .all(let pool): closeAll(of: pool)
      case .one(let pool): closeIdlest(pool)
      }
    }
  }

  /// Closes pools that nothing has been sent through for long, if there are many connections: a few every ten seconds.
  mutating func closeIdlePools() {
    guard pools.taken > budget.limits.plenty, now >= schedule.idle else { return }
    schedule.idle = now + 10_000
    for pool in budget.closesIdle(pools.holders, taken: pools.taken, now: now) {
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
    let staying = pools[pool].connections.filter { pools.connections[$0].isStaying }
    let idlest = staying.min {
      pools.connections[$0].machine.openStreams < pools.connections[$1].machine.openStreams
    }
    guard let idlest else { return }
    perform(pools.connections[idlest].machine.retire(), on: idlest)
  }
}
