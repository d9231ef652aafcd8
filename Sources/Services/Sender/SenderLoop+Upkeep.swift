// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import HTTP2
import Pipeline
import ServiceKit
import Settings
import TLS

/// Connections are opened, replaced and looked after.
extension SenderLoop {
  /// Between two looks at pools and silent connections, in milliseconds.
  private static let upkeepInterval: UInt64 = 20
  /// Between two looks at a pool where answers are all that is waited for, in milliseconds.
  private static let calmInterval: UInt64 = 100
  /// Between two looks at those where nothing goes on, in milliseconds.
  private static let roundInterval: UInt64 = 1_000

  /// Opens and closes connections as each pool's policy says, and looks after silent ones.
  func upkeep() {
    guard now >= nextUpkeep else { return }
    nextUpkeep = now + Self.upkeepInterval
    var waiting = unresolved.count
    let looked = activePools
    activePools.removeAll(keepingCapacity: true)
    for index in looked {
      guard let pool = pools[Int(index)] else { continue }
      if now < pool.lookAt, pool.isCalm {
        activePools.append(index)
        continue
      }
      pool.isActive = false
      waiting += pool.waiting.count + pool.apart.count
      lookAfter(pool)
    }
    counters.set(.waiting, waiting)
    giveRoom()
    if now >= nextRound {
      nextRound = now + Self.roundInterval
      for pool in pools { if let pool, !pool.isActive { lookAfter(pool) } }
      refreshCertificates()
      refreshTokens()
      closeIdlePools()
      publishStatusIfDue()
    }
    dropRetiredPools()
    expireHeld()
    retryBlockedSides()
    producerWatch.turn(producer, now: now)
  }

  /// Time has gone by for a pool, and may allow what it did not before.
  private func lookAfter(_ pool: GatewayPool) {
    pool.lookAt = now + Self.calmInterval
    for connection in pool.connections { watch(connection) }
    if !pool.apart.isEmpty { bringBack(pool) }
    if !pool.isRetired { maintain(pool) }
    if !pool.waiting.isEmpty { dispatch(pool) }
    if !pool.isSettled { activate(pool) }
  }

  /// - Parameter isNext: the pool's turn for the room that there is has come.
  func maintain(_ pool: GatewayPool, isNext: Bool = false) {
    for connection in pool.connections { noteLeaving(connection) }
    replaceAged(pool)
    while true {
      let load = load(of: pool, isNext: isNext)
      switch pool.waiting.decide(&pool.policy, load, now: now) {
      case .nothing: return
      case .awaitRoom: return waitForRoom(pool)
      case .open:
        pool.lookups += 1
        lookups += 1
        // Asked anew before each connect: APNs spreads its load by what a name means now.
        resolver.resolve(
          pool.dialled.host, port: pool.dialled.port, number: UInt64(pool.index),
          seed: random.next())
      case .closeOne: return closeOne(of: pool)
      }
    }
  }

  /// Retires a connection that is too old once another one can serve in its place. One at a time.
  private func replaceAged(_ pool: GatewayPool) {
    guard let aged = pool.connections.first(where: { $0.isAged && $0.isServing }) else { return }
    let canGo =
      pool.connections.contains { $0 !== aged && !$0.isAged && $0.isServing }
      || (aged.state.openStreams == 0 && pool.isIdle)
    guard canGo else { return }
    counters.add(.replacedAged)
    perform(aged.state.retire(), on: aged)
  }

  /// The addresses of a gateway have come: connects to the one that has failed least and serves least.
  func connect(_ resolution: Resolution) {
    lookups -= 1
    guard let pool = pools[Int(resolution.request)] else { return }
    pool.lookups -= 1
    touch(pool)
    guard !isStopping, !pool.isRetired else { return }
    switch resolution.result {
    case .failure(let failure):
      pool.waiting.health.connectFailed(now: now, random: random.next())
      pool.waiting.health.lost(isLast: pool.load.serving == 0, now: now, random: random.next())
      context.log.warning("\(failure)")
    case .success(let addresses):
      pool.addresses.resolved(addresses)
      let inUse = pool.connections.map(\.address)
      guard let address = pool.addresses.choose(inUse: inUse, now: now) else { return }
      open(pool, address)
    }
  }

  private func open(_ pool: GatewayPool, _ address: SocketAddress) {
    let index = freePlaces.last ?? connections.count
    do {
      let http = try HTTP2ClientConnection(
        poller: poller, token: UInt64(index + 1), tls: pool.tls,
        serverName: settings.gatewayName ?? pool.gateway.host, scratch: scratch)
      let age = UInt64(settings.connectionAgeMilliseconds)
      let connection = GatewayConnection(
        http, index: index, pool: pool, address: address,
        maximumStreams: UInt64(settings.connectionRequests),
        now: now, replaceAt: now + age / 2 + random.next() % (age / 2 + 1))
      if index == connections.count { connections.append(nil) } else { freePlaces.removeLast() }
      connections[index] = connection
      pool.connections.append(connection)
      counters.add(.connects)
      http.connect(to: address, through: pool.proxy)
      heed(connection)
      countConnections()
    } catch {
      pool.waiting.health.connectFailed(now: now, random: random.next())
      context.log.error("cannot connect", ["gateway": "\(address)", "error": "\(error)"])
    }
  }

  /// A connection failed us: its address is put aside.
  func troubled(_ connection: GatewayConnection) {
    guard !connection.wasTroubled else { return }
    connection.wasTroubled = true
    connection.pool.addresses.failed(connection.address, now: now, random: random.next())
    counters.add(.addressesAside)
  }

  /// Tells the pool's health of a connection that takes no more pushes, once.
  func noteLeaving(_ connection: GatewayConnection) {
    let hasLeft = connection.state.state == .draining || connection.state.state == .closed
    guard hasLeft, !connection.hasLeft else { return }
    connection.hasLeft = true
    guard !connection.state.isRetired else { return }
    let pool = connection.pool
    pool.waiting.health.connectionEnded(
      hasAccepted: connection.state.hasAccepted, lived: now - connection.startedAt,
      hasOtherAddress: connection.wasTroubled && pool.addresses.hasOther(now: now), now: now,
      random: random.next())
  }

  /// APNs refuses a pool's credential, or one app with it: somebody should know.
  func noteRefusal(_ pool: GatewayPool, app: String?, _ reason: String) {
    counters.add(.credentialRefusals)
    let (environment, id) = ("\(pool.environment)", pool.credential)
    guard let app else {
      return context.log.error(
        "APNs refuses the credential; its notifications wait",
        ["credential": id, "environment": environment, "reason": reason])
    }
    context.log.error(
      "APNs refuses an app with this credential; its notifications wait",
      ["app": app, "credential": id, "environment": environment, "reason": reason])
  }

  /// A connection that will not serve again waits a little for the answers that are on their way.
  private func giveGrace(_ connection: GatewayConnection) {
    let since = connection.forsakenAt ?? now
    connection.forsakenAt = since
    if now - since >= ConnectionStateMachine.grace {
      perform(connection.state.graceOver(), on: connection)
    }
  }

  // MARK: Signs of life

  private func watch(_ connection: GatewayConnection) {
    switch connection.state.state {
    case .connecting:
      // TCP, TLS and SETTINGS together.
      if now - connection.startedAt >= UInt64(settings.connectTimeoutMilliseconds) {
        counters.add(.connectTimeouts)
        connection.http.giveUp()
        heed(connection)
      }
      return
    case .draining:
      // Drained by the choice of a token, which closes nothing by itself.
      if connection.state.openStreams == 0 { perform(connection.state.retire(), on: connection) }
      if connection.state.isForsaken { giveGrace(connection) }
    case .priming, .ready, .suspect, .closed: break
    }
    if now >= connection.replaceAt { connection.isAged = true }
    if let pingedAt = connection.pingedAt {
      if now - pingedAt >= UInt64(settings.pingTimeoutMilliseconds) {
        connection.pingedAt = nil
        counters.add(.silentConnections)
        troubled(connection)
        context.log.warning(
          "a connection does not answer; closing it", ["gateway": "\(connection.address)"])
        perform(connection.state.pingTimedOut(), on: connection)
      }
      return
    }
    let silence = now - max(connection.lastHeard, connection.busySince)
    if connection.state.owesSignOfLife {
      if silence >= UInt64(settings.pingAfterMilliseconds) {
        perform(connection.state.silent(), on: connection)
      }
    } else if silence >= UInt64(settings.idlePingMilliseconds) {
      perform(.ping, on: connection)
    }
  }
}
