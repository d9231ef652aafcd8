// SPDX-License-Identifier: Apache-2.0

internal import Delivery
internal import Pipeline

/// Pushes go out: from a pool's line to the connection with the most free streams.
extension Dispatcher {
  /// Dispatches the pools where something has changed; the others could not send more than they did before.
  package mutating func dispatch() {
    while let pool = pools.nextTouched() {
      if !pools[pool].queue.isEmpty { dispatch(pool) }
    }
  }

  /// Sends what waits, as far as there is stream credit and a usable provider token.
  mutating func dispatch(_ pool: Int32) {
    let capacity = pools.capacity(of: pool)
    if pools[pool].queue.beside > 0, pools[pool].health.looksAgain(now: now) {
      pools[pool].queue.bringBack()
    }
    while let free = pools.mostFree(of: pool) {
      guard prepareToken(free, of: pool) else {
        // A connection that may not change its token yet drains; another one may serve.
        if pools.connections[free].machine.credit == 0 { continue }
        return
      }
      guard let slot = pools[pool].next(capacity: capacity, now: now) else { return }
      switch place(slot, pool, free) {
      case .on(let connection): send(slot, on: connection, of: pool)
      case .ended: pools[pool].queue.ended(pushes[slot].life.sendClass)
      case .beside: pools[pool].queue.putBeside(slot, pushes[slot].life.sendClass)
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

  private mutating func place(_ slot: UInt32, _ pool: Int32, _ free: Int32) -> Place {
    if pushes[slot].isExpired(at: wall) {
      expire(slot)
      return .ended
    }
    // APNs may have called the device dead while this stood in line.
    if devices.mayBeDead(now: now), suppressIfDead(slot) { return .ended }
    // APNs may have throttled the device while this stood in line.
    if devices.mayThrottle(now: now), parkIfThrottled(slot) { return .ended }
    // Its app may have been paused since.
    if pauses.hasApps, divertIfPaused(slot) { return .ended }
    if pools[pool].health.hasRefusedApps {
      switch pools[pool].health.passage(app: pushes[slot].app, now: now) {
      case .now: break
      case .beside: return .beside
      case .retryTopic(let tier):
        park(slot, tier, .app)
        return .ended
      }
    }
    if pushes[slot].setback.connection == 0 { return .on(free) }
    if let connection = elsewhere(slot, pool, insteadOf: free) { return .on(connection) }
    pools[pool].apart.append(slot)
    return .ended
  }

  /// Puts the pool's newest provider token on a connection, if the rules allow it.
  ///
  /// - Returns: false when no push may go out on this connection now.
  private mutating func prepareToken(_ number: Int32, of pool: Int32) -> Bool {
    guard let newest = pools[pool].token else { return pools[pool].authentication == .certificate }
    switch pools.connections[number].machine.chooseToken(newest: newest, now: wall) {
    case .current: return true
    case .newest:
      pools.connections[number].token = pools[pool].tokenNumber
      actions.append(.changeToken(connection: number))
      return true
    case .none: return false
    }
  }

  private mutating func send(_ slot: UInt32, on number: Int32, of pool: Int32) {
    if pools.connections[number].machine.openStreams == 0 {
      pools.connections[number].busySince = now
    }
    pools.connections[number].machine.opened(now: wall)
    if pushes[slot].life.attempts == 0 { pools[pool].health.sent() }
    pushes.open(slot, on: number, now: now, wall: wall)
    actions.append(.send(slot: slot, connection: number))
  }

  /// A push could not be sent after all. Whatever the reason (stream ids used up, a GOAWAY that is still to be heard): no
  /// more streams there.
  package mutating func notSent(_ slot: UInt32) {
    let number = pushes.takeBack(slot)
    let pool = pools.connections[number].pool
    let sendClass = pushes[slot].life.sendClass
    pools[pool].queue.ended(sendClass)
    pools[pool].queue.prepend(slot, sendClass)
    perform(pools.connections[number].machine.notOpened(), on: number)
    pools.touch(pool)
  }

  /// Gives up on answers whose time has passed; what that means is decided when the stream has ended.
  package mutating func expireDeadlines() {
    while let slot = pushes.timeOut(now: now) {
      counts[.timedOut] += 1
      let number = pushes[slot].connection
      // Others were answered since it was sent: the connection lives, this one request is ignored.
      if pools.connections[number].lastHeard + pushes.timeout > now {
        counts[.silentStreams] += 1
      }
      actions.append(.reset(slot: slot, connection: number))
    }
  }

  // MARK: What failed in one place goes out in another

  /// The connection for a push that failed before: to another address of the gateway where there is one, another
  /// connection otherwise. Nil when it should wait for one to be opened elsewhere.
  private mutating func elsewhere(
    _ slot: UInt32, _ pool: Int32, insteadOf chosen: Int32
  ) -> Int32? {
    let (failed, address) = (pushes[slot].setback.connection, pushes[slot].setback.address)
    var connection = chosen
    let isSame =
      pools.connections[chosen].serial == failed || pools.connections[chosen].address == address
    if isSame, let other = pools.another(than: failed, at: address, of: pool),
      prepareToken(other, of: pool)
    {
      connection = other
    }
    guard pools.connections[connection].address == address else {
      counts[.movedAddress] += 1
      pushes[slot].setback.connection = 0
      return connection
    }
    return mayWait(slot, for: connection) ? nil : connection
  }

  /// Whether a better place than this connection may yet be found: the time of one connect is given to it.
  private func mayWait(_ slot: UInt32, for number: Int32) -> Bool {
    let setback = pushes[slot].setback
    guard setback.connection != 0, now - setback.at < settings.connectTimeout else { return false }
    let connection = pools.connections[number]
    // With all connections that there may be, none is opened elsewhere.
    let load = pools.load(of: connection.pool)
    guard load.connecting > 0 || load.serving - load.aged < settings.pool.maximum else {
      return false
    }
    let hasOtherAddress = pools[connection.pool].health.hasOther(
      than: connection.address, now: now)
    return hasOtherAddress
      || (connection.serial == setback.connection && settings.pool.maximum > 1)
  }

  /// Puts pushes back in line that now have another place to go to, or have waited for one long enough.
  mutating func bringBack(_ pool: Int32) {
    for _ in 0..<pools[pool].apart.count {
      guard let slot = pools[pool].apart.popFirst() else { return }
      if canComeBack(slot, pool) {
        pools[pool].queue.prepend(slot, pushes[slot].life.sendClass)
      } else {
        pools[pool].apart.append(slot)
      }
    }
  }

  private func canComeBack(_ slot: UInt32, _ pool: Int32) -> Bool {
    let setback = pushes[slot].setback
    if now - setback.at >= settings.connectTimeout { return true }
    let free = pools[pool].connections.filter { pools.connections[$0].machine.credit > 0 }
    if free.contains(where: { pools.connections[$0].address != setback.address }) { return true }
    return free.first.map { !mayWait(slot, for: $0) } ?? false
  }
}
