// SPDX-License-Identifier: Apache-2.0

package import APNS
package import Delivery
import Random

/// Connections come and go.
extension Dispatcher {
  /// Between two looks at a pool where answers are all that is waited for, in milliseconds.
  private static let calmInterval: UInt64 = 100

  // MARK: Events

  /// Something was heard of a connection.
  ///
  /// - Parameter limit: streams that the gateway allows at once now. Streams that crossed a falling limit came back
  ///   refused: that is judged by the new one.
  package mutating func touched(_ number: Int32, limit: Int) {
    pools.touch(pools.connections[number].pool)
    if limit < pools.connections[number].machine.limit {
      pools.connections[number].machine.settings(limit: limit)
    }
  }

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  package mutating func lookedUp(_ pool: Int32, _ addresses: [PeerAddress]?) {
    pools.endedLookUp(pool)
    pools.touch(pool)
    guard !partitions.isStopping, !pools[pool].isRetired else { return }
    guard let addresses else {
      pools[pool].health.connectFailed(now: now, random: random.next())
      return noteLoss(pool)
    }
    // To the one that has failed least and serves least.
    pools[pool].health.lookedUp(addresses)
    let inUse = pools[pool].connections.map { pools.connections[$0].address }
    guard let address = pools[pool].health.address(inUse: inUse, now: now) else { return }
    open(pool, address)
  }

  private mutating func open(_ pool: Int32, _ address: PeerAddress) {
    let age = settings.connectionAge
    let number = pools.connections.add(
      pool: pool, address: address, authentication: pools[pool].authentication,
      maximumStreams: settings.connectionRequests, now: now,
      replaceAt: now + age / 2 + random.next() % (age / 2 + 1))
    pools[pool].connections.append(number)
    counts[.connects] += 1
    counts[.openConnections] = pools.connections.count
    actions.append(.open(connection: number))
  }

  /// A connection could not even be begun.
  package mutating func notOpened(_ number: Int32) {
    let pool = pools.connections[number].pool
    remove(number)
    pools[pool].health.connectFailed(now: now, random: random.next())
  }

  /// TLS is up.
  package mutating func connected(_ number: Int32) {
    pools.connections[number].lastHeard = now
    pools.connections[number].isMade = true
    pools[pools.connections[number].pool].health.connected()
  }

  /// The gateway allows so many streams at once. Before it has said so nothing is known of it, so nothing is sent.
  package mutating func settings(_ number: Int32, limit: Int) {
    pools.connections[number].machine.settings(limit: limit)
    pools.connections[number].machine.connected()
  }

  /// The gateway is leaving.
  package mutating func goAway(_ number: Int32, _ reason: Reason?) {
    counts[.goAways] += 1
    let pool = pools.connections[number].pool
    let farewell = pools[pool].health.goAway(
      reason, hasAccepted: pools.connections[number].machine.hasAccepted, now: now,
      random: random.next())
    if farewell.isNewRefusal {
      counts[.credentialRefusals] += 1
      actions.append(.reportRefusal(pool: pool, app: nil))
    }
    if farewell.asksForToken { requestToken(pool) }
    if farewell.isTrouble { noteTrouble(number) }
    perform(pools.connections[number].machine.goAway(), on: number)
  }

  /// The gateway answered a PING.
  package mutating func ponged(_ number: Int32) {
    pools.connections[number].pingedAt = nil
    pools.connections[number].lastHeard = now
    perform(pools.connections[number].machine.ponged(), on: number)
  }

  /// A connection is over, and all its streams have ended.
  ///
  /// - Parameter isFailure: not in good order.
  package mutating func closed(_ number: Int32, isFailure: Bool) {
    pools.connections[number].machine.closed()
    let pool = pools.connections[number].pool
    if isFailure { noteTrouble(number) }
    noteLeaving(number)
    let wasSilent = pools.connections[number].wasSilent
    remove(number)
    if isFailure { counts[.connectionsLost] += 1 }
    // Silence is a loss, although it is we who close.
    if isFailure || wasSilent { noteLoss(pool) }
  }

  private mutating func remove(_ number: Int32) {
    pools[pools.connections[number].pool].connections.removeAll { $0 == number }
    pools.connections.remove(number)
    counts[.openConnections] = pools.connections.count
  }

  // MARK: What that says about the destination

  /// A connection is lost, or was not made.
  private mutating func noteLoss(_ pool: Int32) {
    pools[pool].health.lost(
      isLast: pools.load(of: pool).serving == 0, now: now, random: random.next())
  }

  /// A connection failed us: its address is put aside.
  private mutating func noteTrouble(_ number: Int32) {
    guard !pools.connections[number].wasTroubled else { return }
    pools.connections[number].wasTroubled = true
    pools[pools.connections[number].pool].health.troubled(
      pools.connections[number].address, now: now, random: random.next())
    counts[.addressesAside] += 1
  }

  /// Tells the pool's health of a connection that takes no more pushes, once.
  private mutating func noteLeaving(_ number: Int32) {
    let machine = pools.connections[number].machine
    guard machine.state == .draining || machine.state == .closed,
      !pools.connections[number].hasLeft
    else { return }
    pools.connections[number].hasLeft = true
    guard !machine.isRetired else { return }
    let connection = pools.connections[number]
    pools[connection.pool].health.connectionEnded(
      .init(
        address: connection.address, wasMade: connection.isMade, hasAccepted: machine.hasAccepted,
        lived: now - connection.startedAt, wasTroubled: connection.wasTroubled),
      now: now, random: random.next())
  }

  /// What the connection's state machine wants done.
  mutating func perform(_ action: ConnectionStateMachine.Action, on number: Int32) {
    switch action {
    case .nothing: break
    case .ping:
      pools.connections[number].pingedAt = now
      actions.append(.ping(connection: number))
    case .close: actions.append(.close(connection: number))
    }
  }

  // MARK: Time goes by for a pool

  /// Opens and closes connections as the pool's policy says, and looks after silent ones.
  mutating func lookAfter(_ pool: Int32) {
    pools[pool].lookAt = now + Self.calmInterval
    for number in pools[pool].connections { watch(number) }
    if !pools[pool].apart.isEmpty { bringBack(pool) }
    if !pools[pool].isRetired { maintain(pool) }
    if !pools[pool].queue.isEmpty { dispatch(pool) }
    if !pools.isSettled(pool) { pools.activate(pool) }
  }

  /// - Parameter isNext: the pool's turn for the room that there is has come.
  mutating func maintain(_ pool: Int32, isNext: Bool = false) {
    for number in pools[pool].connections { noteLeaving(number) }
    replaceAged(pool)
    while true {
      switch pools.decide(pool, isNext: isNext, now: now) {
      case .nothing: return
      case .awaitRoom: return pools.awaitRoom(pool)
      case .open:
        pools.beganLookUp(pool)
        // Asked anew before each connect: APNs spreads its load by what a name means now.
        actions.append(.lookUp(pool: pool, seed: UInt32(truncatingIfNeeded: random.next())))
      case .closeOne: return closeIdlest(pool)
      }
    }
  }

  /// Retires a connection that is too old once another one can serve in its place. One at a time.
  private mutating func replaceAged(_ pool: Int32) {
    let serving = pools[pool].connections.filter { pools.connections[$0].isServing }
    guard let aged = serving.first(where: { pools.connections[$0].isAged }) else { return }
    let canGo =
      serving.contains { !pools.connections[$0].isAged }
      || (pools.connections[aged].machine.openStreams == 0 && pools[pool].isIdle)
    guard canGo else { return }
    counts[.replacedAged] += 1
    perform(pools.connections[aged].machine.retire(), on: aged)
  }

  // MARK: Signs of life

  private mutating func watch(_ number: Int32) {
    switch pools.connections[number].machine.state {
    case .connecting:
      if now - pools.connections[number].startedAt >= settings.connectTimeout {
        counts[.connectTimeouts] += 1
        actions.append(.abandon(connection: number))
      }
      return
    case .draining: watchDraining(number)
    case .priming, .ready, .suspect, .closed: break
    }
    if now >= pools.connections[number].replaceAt { pools.connections[number].isAged = true }
    if let pingedAt = pools.connections[number].pingedAt {
      if now - pingedAt >= settings.pingTimeout { closeSilent(number) }
      return
    }
    let silence = pools.connections[number].silence(now: now)
    if pools.connections[number].machine.owesSignOfLife {
      if silence >= settings.pingAfter {
        perform(pools.connections[number].machine.silent(), on: number)
      }
    } else if silence >= settings.idlePing {
      perform(.ping, on: number)
    }
  }

  private mutating func watchDraining(_ number: Int32) {
    // Drained by the choice of a token, which closes nothing by itself.
    if pools.connections[number].machine.openStreams == 0 {
      perform(pools.connections[number].machine.retire(), on: number)
    }
    guard pools.connections[number].machine.isAbandoned else { return }
    // It will not serve again: it waits a little for the answers that are on their way.
    let since = pools.connections[number].abandonedAt ?? now
    pools.connections[number].abandonedAt = since
    if now - since >= ConnectionStateMachine.grace {
      perform(pools.connections[number].machine.graceOver(), on: number)
    }
  }

  private mutating func closeSilent(_ number: Int32) {
    pools.connections[number].pingedAt = nil
    pools.connections[number].wasSilent = true
    counts[.silentConnections] += 1
    noteTrouble(number)
    actions.append(.reportSilence(connection: number))
    perform(pools.connections[number].machine.pingTimedOut(), on: number)
  }
}
