// SPDX-License-Identifier: Apache-2.0
import Delivery
import ServiceKit

/// The connections of all pools together stay within `ConnectionBudget`.
extension SenderLoop {
  /// Connections that there are or that are on their way.
  private var taken: Int { connectionCount + lookups }

  /// The pool's load, with what the budget leaves to it.
  ///
  /// - Parameter isNext: its turn for the room that there is has come.
  func load(of pool: GatewayPool, isNext: Bool) -> ConnectionPoolPolicy.Load {
    var load = pool.load
    load.hasRoom = isNext ? taken < budget.limits.most : budget.hasRoom(taken: taken)
    return load
  }

  /// There is no room for a connection. A pool that has one goes on with it.
  func waitForRoom(_ pool: GatewayPool) {
    guard !pool.connections.contains(where: \.isStaying), pool.lookups == 0 else { return }
    budget.wait(pool.index)
  }

  /// Gives the room that there is to those in line, and has others give way if that is not enough.
  func giveRoom() {
    while let index = budget.next(taken: taken) {
      if let pool = pools[Int(index)], !pool.isRetired { maintain(pool, isNext: true) }
    }
    guard budget.isAwaited else { return }
    counters.add(.waitsForRoom)
    let leaving = connections.count { $0.map { !$0.isStaying } ?? false }
    for yield in budget.yields(holders, taken: taken, leaving: leaving, now: now) {
      guard let pool = pools[Int(yield.pool)] else { continue }
      switch yield {
      case .all: closeAll(of: pool)
      case .one: closeOne(of: pool)
      }
    }
  }

  /// Closes pools that nothing has been sent through for long, if there are many connections: a few every ten seconds.
  func closeIdlePools() {
    guard taken > budget.limits.plenty, now >= nextIdleLook else { return }
    nextIdleLook = now + 10_000
    for index in budget.closesIdle(holders, taken: taken, now: now) {
      guard let pool = pools[Int(index)] else { continue }
      counters.add(.closedIdle)
      closeAll(of: pool)
    }
  }

  /// The pool's connections close as their streams end; it opens one when it has something to send.
  private func closeAll(of pool: GatewayPool) {
    pool.policy.rested()
    for connection in pool.connections where connection.isStaying {
      perform(connection.state.retire(), on: connection)
    }
    activate(pool)
  }

  /// The connection with the fewest open streams closes as these end.
  func closeOne(of pool: GatewayPool) {
    let idlest = pool.connections.filter(\.isStaying).min {
      $0.state.openStreams < $1.state.openStreams
    }
    if let idlest { perform(idlest.state.retire(), on: idlest) }
  }

  private var holders: [ConnectionBudget.Holder] {
    pools.compactMap { $0?.holder }
  }
}

extension GatewayPool {
  /// The pool as the budget sees it; nil without a connection that stays.
  fileprivate var holder: ConnectionBudget.Holder? {
    let staying = connections.filter(\.isStaying)
    guard let since = staying.map(\.startedAt).min(), let last = staying.map(\.startedAt).max()
    else { return nil }
    let hasNothing = isIdle && waiting.open == 0 && lookups == 0
    return .init(
      pool: index, connections: staying.count, since: since,
      idleSince: hasNothing ? max(lastAnswer, last) : nil)
  }
}
