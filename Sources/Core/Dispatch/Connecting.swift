// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Delivery

/// Connections come and go: when they are opened, watched, replaced and closed, and what their ends say about the
/// destination.
struct Connecting: Sendable {
  private let settings: DispatchSettings

  init(_ settings: DispatchSettings) { self.settings = settings }

  // MARK: Events

  /// The addresses of a pool's gateway have come, in the order to try them; nil when it has none.
  func lookedUp(
    _ pool: Int32, _ addresses: [PeerAddress]?, _ pools: inout Pools, _ turn: inout Turn
  ) {
    if let addresses { pools[pool].health.lookedUp(addresses) }
    let inUse = pools[pool].connections.filter { pools.connections[$0].isStaying }
      .map { pools.connections[$0].address }
    let route = pools[pool].health.route(inUse: inUse, now: turn.now)
    let race = pools[pool].beginRace(addresses == nil ? [] : route)
    goOn(pool, race, &pools, &turn)
  }

  /// A search goes on with its next address. When none is left and nothing is under way, nobody can be reached.
  private func goOn(
    _ pool: Int32, _ race: UInt32, _ pools: inout Pools, _ turn: inout Turn
  ) {
    if let address = pools[pool].nextAddress(of: race, now: turn.now) {
      return open(pool, race, address, &pools, &turn)
    }
    guard pools[pool].removeIfOver(race) else { return }
    pools[pool].health.connectFailed(now: turn.now, random: turn.chance())
    noteLoss(pool, &pools, &turn)
  }

  private func open(
    _ pool: Int32, _ race: UInt32, _ address: PeerAddress, _ pools: inout Pools,
    _ turn: inout Turn
  ) {
    let age = settings.connectionAge
    let number = pools.connections.add(
      pool: pool, race: race, address: address, authentication: pools[pool].authentication,
      maximumStreams: settings.connectionRequests, now: turn.now,
      replaceAt: turn.now + age / 2 + turn.chance() % (age / 2 + 1))
    pools[pool].add(connection: number)
    turn.count(.connects)
    turn.set(.openConnections, pools.connections.count)
    turn.append(.open(connection: number))
  }

  /// A connection could not even be begun: the system refuses it, which another address does not change.
  func notOpened(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    let (pool, race) = (pools.connections[number].pool, pools.connections[number].race)
    remove(number, &pools, &turn)
    pools[pool].endAttempt(of: race, isLast: true)
    goOn(pool, race, &pools, &turn)
  }

  /// A connection came a step nearer.
  func advanced(_ number: Int32, _ pools: inout Pools, now: UInt64) {
    pools.connections[number].noteActivity(now: now)
    pools[pools.connections[number].pool].advanced(pools.connections[number].race, now: now)
  }

  /// TLS is up.
  func connected(_ number: Int32, _ pools: inout Pools, now: UInt64) {
    pools.connections[number].connected(now: now)
    pools[pools.connections[number].pool].advanced(pools.connections[number].race, now: now)
    pools[pools.connections[number].pool].health.connected()
  }

  /// A connection takes requests: what else its search has under way is not needed any more.
  func ready(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    let (pool, race) = (pools.connections[number].pool, pools.connections[number].race)
    guard race != 0, pools.connections[number].isServing else { return }
    pools.connections[number].leaveRace()
    pools[pool].remove(race: race)
    for other in pools[pool].connections where pools.connections[other].race == race {
      let isSilent = pools.connections[other].silence(now: turn.now) >= AddressRace.patience
      pools.connections[other].beaten()
      if isSilent { giveUp(other, &pools, &turn) } else { pools.connections.retire(other, &turn) }
    }
  }

  /// Gives up a connection that is not ready in time: its address has failed.
  private func giveUp(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    pools.connections[number].giveUp()
    turn.count(.connectTimeouts)
    turn.append(.abandon(connection: number))
  }

  /// The gateway is leaving.
  ///
  /// - Parameter isError: it says with its code that something is wrong.
  func goAway(
    _ number: Int32, _ reason: Reason?, isError: Bool, _ pools: inout Pools, _ turn: inout Turn
  ) {
    turn.count(.goAways)
    if !isError, reason == nil { pools.connections[number].endsInOrder() }
    let pool = pools.connections[number].pool
    let farewell = pools[pool].health.goAway(
      reason, at: pools.connections[number].address,
      hasAccepted: pools.connections[number].machine.hasAccepted, now: turn.now,
      random: turn.chance())
    if farewell.isNewRefusal {
      turn.count(.credentialRefusals)
      turn.append(.reportRefusal(pool: pool, app: nil))
    }
    if farewell.asksForToken { turn.requestToken(pool) }
    if farewell.isTrouble { pools.putAddressAside(of: number, &turn) }
    pools.connections.goAway(number, &turn)
  }

  /// A connection is over, and all its streams have ended.
  ///
  /// - Parameter isFailure: not in good order.
  func closed(_ number: Int32, isFailure: Bool, _ pools: inout Pools, _ turn: inout Turn) {
    pools.connections.closed(number)
    let (pool, race) = (pools.connections[number].pool, pools.connections[number].race)
    let isOfAddressAlone = pools.connections[number].isOfAddressAlone
    if isFailure {
      pools.putAddressAside(of: number, &turn)
      turn.count(.connectionsLost)
    }
    if !isOfAddressAlone { noteLeaving(number, &pools, &turn) }
    let wasSilent = pools.connections[number].wasSilent
    remove(number, &pools, &turn)
    pools[pool].endAttempt(of: race, isLast: !isOfAddressAlone)
    if isOfAddressAlone { return goOn(pool, race, &pools, &turn) }
    _ = pools[pool].removeIfOver(race)
    // Silence is a loss, although it is we who close.
    if isFailure || wasSilent { noteLoss(pool, &pools, &turn) }
  }

  private func remove(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    pools[pools.connections[number].pool].remove(connection: number)
    pools.connections.remove(number)
    turn.set(.openConnections, pools.connections.count)
  }

  // MARK: What that says about the destination

  /// A connection is lost, or was not made.
  private func noteLoss(_ pool: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    pools[pool].health.lost(
      isLast: pools.load(of: pool).serving == 0, now: turn.now, random: turn.chance())
  }

  /// Tells the pool's health of a connection that takes no more pushes, once.
  private func noteLeaving(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    guard pools.connections[number].leaves() else { return }
    let connection = pools.connections[number]
    guard !connection.machine.isRetired else { return }
    var end = DestinationHealth.ConnectionEnd(
      hasAccepted: connection.machine.hasAccepted, lived: turn.now - connection.startedAt,
      isAddressAside: connection.isAddressAside)
    end.accepted = connection.machine.acceptedStreams
    end.isInOrder = connection.isInOrder
    pools[connection.pool].health.connectionEnded(end, now: turn.now, random: turn.chance())
  }

  // MARK: Time goes by for a pool

  /// Opens and closes connections as the pool's policy says.
  ///
  /// - Parameter isNext: the pool's turn for the room that there is has come.
  func maintain(
    _ pool: Int32, isNext: Bool = false, _ pools: inout Pools, _ turn: inout Turn
  ) {
    for number in pools[pool].connections { noteLeaving(number, &pools, &turn) }
    replaceAged(pool, &pools, &turn)
    while true {
      switch pools.decide(pool, isNext: isNext, now: turn.now) {
      case .nothing: return
      case .awaitRoom: return pools.awaitRoom(pool)
      case .open:
        pools.beganLookUp(pool)
        // Asked again before each connect: APNs spreads its load by what a name means now.
        turn.append(.lookUp(pool: pool, seed: UInt32(truncatingIfNeeded: turn.chance())))
      case .closeOne: return closeIdlest(pool, &pools, &turn)
      }
    }
  }

  /// Retires a connection that is too old once another one can serve in its place. One at a time.
  private func replaceAged(_ pool: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    let serving = pools[pool].connections.filter { pools.connections[$0].isServing }
    guard let aged = serving.first(where: { pools.connections[$0].isAged }) else { return }
    let canGo =
      serving.contains { !pools.connections[$0].isAged }
      || (pools.connections[aged].machine.openStreams == 0 && pools[pool].isIdle)
    guard canGo else { return }
    turn.count(.replacedAged)
    pools.connections.retire(aged, &turn)
  }

  // MARK: Signs of life

  /// Looks after the pool's silent connections, and has searches go on that come no nearer.
  func watch(_ pool: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    for race in pools[pool].races where race.wantsNext(now: turn.now) && pools.hasRoom {
      goOn(pool, race.number, &pools, &turn)
    }
    for number in pools[pool].connections { watch(connection: number, &pools, &turn) }
  }

  private func watch(connection number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    switch pools.connections[number].machine.state {
    case .connecting:
      if turn.now - pools.connections[number].startedAt >= settings.connectTimeout {
        giveUp(number, &pools, &turn)
      }
      return
    case .draining: watchDraining(number, &pools, &turn)
    case .priming, .ready, .suspect, .closed: break
    }
    pools.connections[number].age(now: turn.now)
    if let pingedAt = pools.connections[number].pingedAt {
      if turn.now - pingedAt >= settings.pingTimeout { closeSilent(number, &pools, &turn) }
      return
    }
    let silence = pools.connections[number].silence(now: turn.now)
    if pools.connections[number].machine.owesSignOfLife {
      if silence >= settings.pingAfter {
        pools.connections.silent(number, &turn)
      }
    } else if silence >= settings.idlePing {
      pools.connections.ping(number, &turn)
    }
  }

  private func watchDraining(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    // Drained by the choice of a token, which closes nothing by itself.
    if pools.connections[number].machine.openStreams == 0 {
      pools.connections.retire(number, &turn)
    }
    pools.connections.closeAbandoned(number, &turn)
  }

  private func closeSilent(_ number: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    turn.count(.silentConnections)
    pools.putAddressAside(of: number, &turn)
    pools.connections.pingTimedOut(number, &turn)
  }

  // MARK: All pools together stay within `ConnectionBudget`

  /// Gives the room that there is to those in line, and has others give way if that is not enough.
  func giveRoom(_ pools: inout Pools, _ turn: inout Turn) {
    while let pool = pools.nextWithRoom() {
      if !pools[pool].isRetired { maintain(pool, isNext: true, &pools, &turn) }
    }
    guard let yields = pools.yields(now: turn.now) else { return }
    turn.count(.waitsForRoom)
    for yield in yields {
      switch yield {
      case .all(let pool): closeAll(of: pool, &pools, &turn)
      case .one(let pool): closeIdlest(pool, &pools, &turn)
      }
    }
  }

  /// Closes pools that nothing has been sent through for long.
  func closeIdlePools(_ pools: inout Pools, _ turn: inout Turn) {
    for pool in pools.idleTooLong(now: turn.now) {
      turn.count(.closedIdle)
      closeAll(of: pool, &pools, &turn)
    }
  }

  /// The pool's connections close as their streams end; it opens one when it has something to send.
  private func closeAll(of pool: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    pools[pool].health.closedIdle()
    for number in pools[pool].connections where pools.connections[number].isStaying {
      pools.connections.retire(number, &turn)
    }
    pools.activate(pool)
  }

  /// The connection with the fewest open streams closes as these end.
  private func closeIdlest(_ pool: Int32, _ pools: inout Pools, _ turn: inout Turn) {
    guard let idlest = pools.idlest(of: pool) else { return }
    pools.connections.retire(idlest, &turn)
  }
}
