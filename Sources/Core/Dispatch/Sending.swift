// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import Pipeline

/// Pushes go out: from a pool's line to the connection with the most free streams. What failed in one place goes out in
/// another.
struct Sending: Sendable {
  /// How long a better place is waited for: the time of one connect, in milliseconds.
  private let patience: UInt64
  /// Connections that a pool may have.
  private let connectionsAtMost: Int

  init(_ settings: DispatchSettings) {
    patience = settings.connectTimeout
    connectionsAtMost = settings.pool.maximum
  }

  /// Dispatches the pools where something has changed; the others could not send more than they did before.
  func dispatch(_ pools: inout Pools, _ work: inout Workload, _ turn: inout Turn) {
    while let pool = pools.nextTouched() {
      if !pools[pool].queue.isEmpty { dispatch(pool, &pools, &work, &turn) }
    }
  }

  /// Sends what waits, as far as there is stream credit and a usable provider token.
  func dispatch(
    _ pool: Int32, _ pools: inout Pools, _ work: inout Workload, _ turn: inout Turn
  ) {
    let capacity = pools.capacity(of: pool)
    if pools[pool].queue.beside > 0, pools[pool].health.hasNewAllowance(now: turn.now) {
      pools[pool].queue.bringBack()
    }
    while let free = pools.mostFree(of: pool) {
      guard pools.prepareToken(of: free, &turn) else {
        // A connection that may not change its token yet drains; another one may serve.
        if pools.connections[free].machine.credit == 0 { continue }
        return
      }
      guard let slot = pools[pool].next(capacity: capacity, now: turn.now) else { return }
      switch place(slot, pool, free, &pools, &work, &turn) {
      case .on(let connection): send(slot, on: connection, of: pool, &pools, &work, &turn)
      case .ended: pools[pool].queue.ended(work.pushes[slot].life.sendClass)
      case .beside: pools[pool].queue.putBeside(slot, work.pushes[slot].life.sendClass)
      }
    }
  }

  /// Where a push goes whose turn it is.
  private enum Place {
    case on(Int32)
    /// Nowhere: it has ended, or waits elsewhere.
    case ended
    /// Beside the line, because its app has to wait.
    case beside
  }

  private func place(
    _ slot: UInt32, _ pool: Int32, _ free: Int32, _ pools: inout Pools, _ work: inout Workload,
    _ turn: inout Turn
  ) -> Place {
    guard work.mayGo(slot, &turn) else { return .ended }
    if pools[pool].hasRefusedApps() {
      let push = work.pushes[slot]
      switch pools[pool].health.passage(
        app: push.app, findsOut: push.setback.findsOut, now: turn.now)
      {
      case .now: break
      case .beside: return .beside
      case .retryTopic(let tier):
        work.park(slot, tier, .app, &turn)
        return .ended
      }
    }
    if work.pushes[slot].setback.connection == 0 { return .on(free) }
    if let connection = elsewhere(slot, pool, insteadOf: free, &pools, &work, &turn) {
      return .on(connection)
    }
    pools[pool].apart.append(slot)
    return .ended
  }

  private func send(
    _ slot: UInt32, on number: Int32, of pool: Int32, _ pools: inout Pools,
    _ work: inout Workload, _ turn: inout Turn
  ) {
    pools.connections[number].opened(now: turn.now, wall: turn.wall)
    if work.pushes[slot].life.attempts == 0 { pools[pool].health.sent() }
    work.pushes.open(slot, on: number, now: turn.now, wall: turn.wall)
    turn.append(.send(slot: slot, connection: number))
  }

  /// A push could not be sent after all. Whatever the reason (stream ids used up, a GOAWAY that is still to be heard): no
  /// more streams there.
  func notSent(
    _ slot: UInt32, _ pools: inout Pools, _ work: inout Workload, _ turn: inout Turn
  ) {
    let number = work.pushes.takeBack(slot)
    let pool = pools.connections[number].pool
    let sendClass = work.pushes[slot].life.sendClass
    pools[pool].queue.ended(sendClass)
    pools[pool].queue.prepend(slot, sendClass)
    pools.connections.notOpened(number, &turn)
    pools.touch(pool)
  }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has ended.
  func expireDeadlines(_ pools: borrowing Pools, _ work: inout Workload, _ turn: inout Turn) {
    while let slot = work.pushes.timeOut(now: turn.now) {
      turn.count(.timedOut)
      let number = work.pushes[slot].connection
      // Others were answered since it was sent: the connection lives, this one request is ignored.
      if pools.connections[number].lastActivity + work.pushes.timeout > turn.now {
        turn.count(.silentStreams)
      }
      turn.append(.reset(slot: slot, connection: number))
    }
  }

  // MARK: What failed in one place goes out in another

  /// The connection for a push that failed before: to another address of the gateway where there is one, another
  /// connection otherwise. Nil when it should wait for one to be opened elsewhere.
  private func elsewhere(
    _ slot: UInt32, _ pool: Int32, insteadOf chosen: Int32, _ pools: inout Pools,
    _ work: inout Workload, _ turn: inout Turn
  ) -> Int32? {
    let (setback, app) = (work.pushes[slot].setback, work.pushes[slot].app)
    var connection = chosen
    if pools.connections[chosen].serial == setback.connection
      || !isElsewhere(chosen, setback, app, pools),
      let other = another(setback, app, of: pool, pools), pools.prepareToken(of: other, &turn)
    {
      connection = other
    }
    guard !isElsewhere(connection, setback, app, pools) else {
      turn.count(.movedAddress)
      work.pushes[slot].moveOn()
      return connection
    }
    return mayWait(setback, app, for: connection, pools, now: turn.now) ? nil : connection
  }

  /// Whether a connection leads to another address than where a push failed, and not to one that has refused its app.
  private func isElsewhere(
    _ number: Int32, _ setback: PushState.Setback, _ app: UInt64, _ pools: borrowing Pools
  ) -> Bool {
    let (pool, address) = (pools.connections[number].pool, pools.connections[number].address)
    guard address != setback.address else { return false }
    return !setback.findsOut || !pools[pool].health.refuses(app, at: address)
  }

  /// A connection with free streams that a push has not failed on, to another address if there is one.
  private func another(
    _ setback: PushState.Setback, _ app: UInt64, of pool: Int32, _ pools: borrowing Pools
  ) -> Int32? {
    var found: Int32?
    for number in pools[pool].connections where pools.connections[number].machine.credit > 0 {
      guard pools.connections[number].serial != setback.connection else { continue }
      if isElsewhere(number, setback, app, pools) { return number }
      found = number
    }
    return found
  }

  /// Whether a better place than this connection may yet be found.
  private func mayWait(
    _ setback: PushState.Setback, _ app: UInt64, for number: Int32, _ pools: borrowing Pools,
    now: UInt64
  ) -> Bool {
    guard setback.connection != 0, now - setback.at < patience else { return false }
    let connection = pools.connections[number]
    // With all connections that there may be, none is opened elsewhere.
    let load = pools.load(of: connection.pool)
    guard load.connecting > 0 || load.serving - load.aged < connectionsAtMost else { return false }
    if setback.findsOut { return pools[connection.pool].health.hasUntried(app, now: now) }
    let hasOtherAddress = pools[connection.pool].health.hasOther(
      than: connection.address, now: now)
    return hasOtherAddress
      || (connection.serial == setback.connection && connectionsAtMost > 1)
  }

  /// Puts pushes back in line that now have another place to go to, or have waited for one long enough.
  func bringBack(_ pool: Int32, _ pools: inout Pools, _ work: borrowing Workload, now: UInt64) {
    for _ in 0..<pools[pool].apart.count {
      guard let slot = pools[pool].apart.popFirst() else { return }
      let (setback, app) = (work.pushes[slot].setback, work.pushes[slot].app)
      if canComeBack(setback, app, pool, pools, now: now) {
        pools[pool].queue.prepend(slot, work.pushes[slot].life.sendClass)
      } else {
        pools[pool].apart.append(slot)
      }
    }
  }

  private func canComeBack(
    _ setback: PushState.Setback, _ app: UInt64, _ pool: Int32, _ pools: borrowing Pools,
    now: UInt64
  ) -> Bool {
    if now - setback.at >= patience { return true }
    var first: Int32?
    for number in pools[pool].connections where pools.connections[number].machine.credit > 0 {
      if isElsewhere(number, setback, app, pools) { return true }
      if first == nil { first = number }
    }
    return first.map { !mayWait(setback, app, for: $0, pools, now: now) } ?? false
  }
}
