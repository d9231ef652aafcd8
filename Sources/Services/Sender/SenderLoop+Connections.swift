// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import EventLoop
import HTTP2
import Pipeline
import Records
import ServiceKit
import Settings
import TLS

/// Connections and provider tokens come and go.
extension SenderLoop {
  /// Between two looks at pools and silent connections, in milliseconds.
  private static let upkeepInterval: UInt64 = 20
  /// Silence with open streams after which a sign of life is asked for, and how long that may take.
  private static let silenceLimit: UInt64 = 10_000
  private static let pingLimit: UInt64 = 10_000

  // MARK: Sockets

  func socketReady(_ event: ReadyEvent) {
    guard let connection = connections[Int(event.token) - 1] else { return }
    connection.http.socketReady(
      readable: event.readable, writable: event.writable, hangup: event.hangup)
    heed(connection)
    // Acknowledgements and window updates go out with this turn's write.
    markDirty(connection)
  }

  func takeNotices(of connection: GatewayConnection) {
    for notice in connection.http.takeNotices() {
      switch notice {
      case .connected:
        connection.state.connected()
        connection.lastHeard = now
        context.log.debug("connected", ["gateway": "\(connection.address)"])
      case .settings(let limit):
        connection.state.settings(limit: Int(limit))
      case .goAway(_, let code, let debug):
        goAway(connection, code: code, debug: debug)
      case .pong:
        connection.pingedAt = nil
        connection.lastHeard = now
        connection.state.ponged()
      case .closed(let failure):
        closed(connection, failure)
      }
    }
  }

  private func goAway(_ connection: GatewayConnection, code: UInt32, debug: [UInt8]) {
    counters.add(.goAways)
    let said = GoAwayReason(debug, parser: parser)
    context.log.info(
      "GOAWAY received",
      [
        "gateway": "\(connection.address)", "code": "\(code)",
        "reason": said.text,
      ])
    if said.reason?.rule.credential == .stop {
      connection.pool.policy.credentialRefused(now: now, random: random.next())
    }
    perform(connection.state.goAway(), on: connection)
  }

  private func closed(_ connection: GatewayConnection, _ failure: ConnectionFailure?) {
    let wasServing = connection.state.hasAccepted
    connection.state.closed()
    let pool = connection.pool
    pool.connections.removeAll { $0 === connection }
    if let index = connections.firstIndex(where: { $0 === connection }) { connections[index] = nil }
    countConnections()
    guard let failure else { return }
    counters.add(.connectionsLost)
    if !wasServing { pool.policy.connectFailed(now: now, random: random.next()) }
    context.log.warning(
      "connection lost", ["gateway": "\(connection.address)", "error": "\(failure)"])
  }

  private func countConnections() {
    counters.set(.openConnections, connections.reduce(0) { $0 + ($1 == nil ? 0 : 1) })
  }

  /// Closes what was found useless during the turn; its open streams complete now.
  func closeDoomed() {
    while let connection = closing.popLast() {
      connection.http.close()
      heed(connection)
    }
  }

  /// The loop ends: every connection says GOAWAY and closes.
  func closeConnections() {
    for connection in connections { if let connection { closing.append(connection) } }
    closeDoomed()
  }

  // MARK: Pools

  /// The pool that serves a push's app and environment; nil while no usable provider token does.
  func pool(for push: UnsafeMutablePointer<Push>) -> GatewayPool? {
    let envelope = push.pointee.envelope
    let app = push.pointee.field(envelope.app).bindMemory(to: UInt8.self).span
    guard let credential = book.resolve(app: app, environment: envelope.environment),
      book.isUsable(credential, now: wall)
    else { return nil }
    return pool(of: credential, envelope.environment)
  }

  /// The pool of a credential's pushes to an environment; made when it is first needed.
  func pool(of credential: Int, _ environment: Environment) -> GatewayPool {
    let index = credential * 2 + Int(environment.rawValue)
    while pools.count <= index { pools.append(nil) }
    if let pool = pools[index] { return pool }
    let gateway =
      environment == .production ? settings.productionGateway : settings.sandboxGateway
    let pool = GatewayPool(
      index: Int32(index), credential: book.entries[credential].credential,
      environment: environment, gateway: gateway,
      limits: .init(
        minimum: settings.connections.lowerBound, maximum: settings.connections.upperBound))
    pools[index] = pool
    authorize(pool, credential)
    return pool
  }

  private func authorize(_ pool: GatewayPool, _ credential: Int) {
    let entry = book.entries[credential]
    pool.authorization = Authorization(stamp: entry.stamp, token: entry.token)
  }

  /// Whether pushes wait for a connection, which `upkeep` opens, or for a provider token.
  var hasWaiting: Bool {
    !unresolved.isEmpty || pools.contains { $0.map { !$0.waiting.isEmpty } ?? false }
  }

  /// Opens and closes connections as each pool's policy says, and looks after silent ones.
  func upkeep() {
    guard now >= nextUpkeep else { return }
    nextUpkeep = now + Self.upkeepInterval
    var waiting = unresolved.count
    for pool in pools {
      guard let pool else { continue }
      waiting += pool.waiting.count
      maintain(pool)
    }
    counters.set(.waiting, waiting)
    for connection in connections { if let connection { watch(connection) } }
    if book.refresh(now: wall) { routeUnresolved() }
    expireUnresolved()
    retryBlockedSides()
  }

  private func maintain(_ pool: GatewayPool) {
    while true {
      switch pool.policy.decide(pool.load, now: now) {
      case .nothing: return
      case .open:
        pool.lookups += 1
        resolver.resolve(
          pool.gateway.host, port: pool.gateway.port, number: UInt64(pool.index),
          seed: random.next())
      case .closeOne:
        guard
          let idlest = pool.connections.min(by: {
            $0.state.openStreams < $1.state.openStreams
          })
        else { return }
        perform(idlest.state.retire(), on: idlest)
        return
      }
    }
  }

  /// The addresses of a gateway have come: connects to the first of them.
  func connect(_ resolution: Resolution) {
    guard let pool = pools[Int(resolution.request)] else { return }
    pool.lookups -= 1
    guard !isStopping else { return }
    switch resolution.result {
    case .failure(let failure):
      pool.policy.connectFailed(now: now, random: random.next())
      context.log.warning("\(failure)")
    case .success(let addresses):
      guard let address = addresses.first else { return }
      open(pool, address)
    }
  }

  private func open(_ pool: GatewayPool, _ address: SocketAddress) {
    let index = connections.firstIndex { $0 == nil } ?? connections.count
    do {
      let http = try HTTP2ClientConnection(
        poller: poller, token: UInt64(index + 1), tls: tls,
        serverName: settings.gatewayName ?? pool.gateway.host, scratch: scratch)
      let connection = GatewayConnection(
        http, pool: pool, address: address, authentication: .providerToken, now: now)
      if index == connections.count { connections.append(nil) }
      connections[index] = connection
      pool.connections.append(connection)
      counters.add(.connects)
      http.connect(to: address)
      heed(connection)
      countConnections()
    } catch {
      pool.policy.connectFailed(now: now, random: random.next())
      context.log.error("cannot connect", ["gateway": "\(address)", "error": "\(error)"])
    }
  }

  private func watch(_ connection: GatewayConnection) {
    if let pingedAt = connection.pingedAt {
      if now - pingedAt >= Self.pingLimit {
        connection.pingedAt = nil
        perform(connection.state.pingTimedOut(), on: connection)
      }
    } else if connection.state.openStreams > 0,
      now - connection.lastHeard >= Self.silenceLimit
    {
      perform(connection.state.silent(), on: connection)
    }
  }

  // MARK: Provider tokens

  func learn(_ entry: ProviderTokenBook.Entry) {
    switch book.apply(entry, now: wall) {
    case .stale, .removed: return
    case .added(let index), .renewed(let index):
      for environment in Environment.allCases {
        let place = index * 2 + Int(environment.rawValue)
        guard place < pools.count, let pool = pools[place] else { continue }
        authorize(pool, index)
        pool.policy.credentialChanged()
      }
    }
    routeUnresolved()
  }

  /// Holds a push until a provider token of its app arrives, and asks for one.
  func waitForCredential(_ slot: UInt32) {
    let push = pushes[slot]
    push.pointee.waitingSince = now
    unresolved.append(slot)
    let envelope = push.pointee.envelope
    let app = String(decoding: push.pointee.field(envelope.app), as: UTF8.self)
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: nil, app: app, environment: envelope.environment, reason: "missing",
          at: wall)))
  }

  func askForToken(_ pool: GatewayPool, reason: String) {
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: pool.credential, app: nil, environment: pool.environment, reason: reason,
          at: wall)))
  }

  /// Puts the pushes in line that a token now serves; the others keep their order and their time.
  private func routeUnresolved() {
    for _ in 0..<unresolved.count {
      guard let slot = unresolved.popFirst() else { return }
      if let pool = pool(for: pushes[slot]) {
        pool.waiting.append(slot)
      } else {
        unresolved.append(slot)
      }
    }
  }

  private func expireUnresolved() {
    let limit = UInt64(settings.credentialWaitMilliseconds)
    while let slot = unresolved.first, now - pushes[slot].pointee.waitingSince >= limit {
      _ = unresolved.popFirst()
      deadLetter(slot, .noCredential, nil)
    }
  }
}
