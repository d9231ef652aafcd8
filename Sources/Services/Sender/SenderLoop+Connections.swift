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
        connection.lastHeard = now
        connection.pool.waiting.health.connected()
        context.log.debug("connected", ["gateway": "\(connection.address)"])
      case .settings(let limit):
        // Before these nothing is known of what the gateway allows, so no stream goes out before them.
        connection.state.settings(limit: Int(limit))
        connection.state.connected()
      case .goAway(_, let code, let debug):
        goAway(connection, code: code, debug: debug)
      case .pong:
        connection.pingedAt = nil
        connection.lastHeard = now
        perform(connection.state.ponged(), on: connection)
      case .closed(let failure):
        closed(connection, failure)
      }
    }
  }

  private func goAway(_ connection: GatewayConnection, code: UInt32, debug: [UInt8]) {
    counters.add(.goAways)
    let said = GoAwayReason(debug, parser: parser)
    telemetry.goAway(said.reason, isSilent: debug.isEmpty)
    context.log.info(
      "GOAWAY received",
      [
        "gateway": "\(connection.address)", "code": "\(code)",
        "reason": said.text,
      ])
    let pool = connection.pool
    switch said.reason?.rule.credential {
    case .stop:
      if pool.waiting.health.refusedByGoAway(now: now, random: random.next()) {
        noteRefusal(pool, app: nil, said.text)
      }
    case .refresh: askForToken(pool, reason: said.text)
    default:
      // The host is stopping, or turned us away before it did anything for us: not a place to come back to.
      if said.reason == .shutdown || !connection.state.hasAccepted { troubled(connection) }
    }
    perform(connection.state.goAway(), on: connection)
  }

  private func closed(_ connection: GatewayConnection, _ failure: ConnectionFailure?) {
    let wasServing = connection.state.hasAccepted
    connection.state.closed()
    let pool = connection.pool
    pool.connections.removeAll { $0 === connection }
    if connections[connection.index] === connection {
      connections[connection.index] = nil
      freePlaces.append(connection.index)
    }
    countConnections()
    if failure != nil { troubled(connection) }
    noteLeaving(connection)
    guard let failure else { return }
    counters.add(.connectionsLost)
    pool.waiting.health.lost(isLast: pool.load.serving == 0, now: now, random: random.next())
    context.log.warning(
      wasServing ? "connection lost" : "cannot connect",
      ["gateway": "\(connection.address)", "error": "\(failure)"])
  }

  func countConnections() {
    counters.set(.openConnections, connectionCount)
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

  /// The pool that serves a push's app and environment; nil while no credential is known that does. The pool of a
  /// credential without a valid token holds its pushes.
  func pool(for push: UnsafeMutablePointer<Push>) -> GatewayPool? {
    let envelope = push.pointee.envelope
    let app = push.pointee.field(envelope.app).bindMemory(to: UInt8.self).span
    let kind = settings.gatewayKind(envelope.environment, envelope.target)
    // APNs takes location pushes and some others with provider tokens only.
    if !certificates.isEmpty, envelope.pushType.authentication != .providerToken,
      let certificate = certificates.resolve(app: app, environment: envelope.environment)
    {
      return pool(ofCertificate: certificate, kind)
    }
    guard envelope.pushType.authentication != .certificate,
      let credential = book.resolve(app: app, environment: envelope.environment)
    else { return nil }
    return pool(of: credential, kind)
  }

  /// Whether it may yet turn out that a credential serves the push: not all of them are known, or it is a certificate
  /// whose time is over and that has to be renewed.
  private func mayBeKnown(_ push: UnsafeMutablePointer<Push>) -> Bool {
    let envelope = push.pointee.envelope
    let app = push.pointee.field(envelope.app).bindMemory(to: UInt8.self).span
    let authentication = envelope.pushType.authentication
    if authentication != .providerToken,
      certificates.knows(app: app, environment: envelope.environment)
    {
      return true
    }
    if authentication == .certificate { return false }
    return !knowsAllCredentials || book.entries.isEmpty && certificates.isEmpty
  }

  /// Whether a certificate serves the app of a push whose type APNs takes with provider tokens only.
  func hasCertificateOnly(_ push: UnsafeMutablePointer<Push>) -> Bool {
    let envelope = push.pointee.envelope
    guard envelope.pushType.authentication == .providerToken else { return false }
    let app = push.pointee.field(envelope.app).bindMemory(to: UInt8.self).span
    return certificates.resolve(app: app, environment: envelope.environment) != nil
  }

  /// The pool of a credential's pushes to a gateway; made when it is first needed.
  func pool(of credential: Int, _ kind: GatewayKind) -> GatewayPool {
    let place = kind.place(credential)
    while tokenPools.count <= place { tokenPools.append(-1) }
    if tokenPools[place] >= 0, let pool = pools[Int(tokenPools[place])] { return pool }
    let pool = makePool(
      book.entries[credential].credential, kind, access.tls, .providerToken)
    tokenPools[place] = pool.index
    authorize(pool, credential)
    return pool
  }

  func makePool(
    _ credential: String, _ kind: GatewayKind, _ tls: TLSContext,
    _ authentication: ConnectionStateMachine.Authentication
  ) -> GatewayPool {
    let pool = GatewayPool(
      index: Int32(pools.count), credential: credential, kind: kind,
      gateway: settings.gateway(kind),
      tls: tls, authentication: authentication, proxy: settings.proxy,
      limits: .init(
        minimum: settings.connections.lowerBound, maximum: settings.connections.upperBound),
      waiting: SendQueue(
        shares: LaneShares(reserved: settings.reservedPercent),
        budget: RetryBudget(percent: settings.retryBudgetPercent)))
    pools.append(pool)
    hasNewDestinations = true
    return pool
  }

  /// Whether `upkeep` has something to look after: pushes that wait for a provider token, or pools where something
  /// goes on.
  var hasWaiting: Bool { !unresolved.isEmpty || !activePools.isEmpty }

  // MARK: Pushes that wait for a credential

  /// Holds a push whose app no known credential serves until one does, and asks for a token.
  func waitForCredential(_ slot: UInt32) {
    let push = pushes[slot]
    askForToken(of: push)
    guard admits(slot, to: Int32(Fairness.noCredential)) else {
      return divert(slot, HoldReason.credential)
    }
    hold(slot, for: Int32(Fairness.noCredential))
    push.pointee.life.putAside()
    push.pointee.waitingSince = beganToWait(push)
    unresolved.append(slot)
  }

  /// When a push began to wait for a credential: before it was moved to a retry topic, if it was.
  private func beganToWait(_ push: UnsafeMutablePointer<Push>) -> UInt64 {
    let envelope = push.pointee.envelope
    guard let since = envelope.firstSeen,
      push.pointee.field(envelope.lastReason).elementsEqual(
        UnsafeRawBufferPointer(HoldReason.credential))
    else { return now }
    return now - min(now, UInt64(max(0, wall - since)))
  }

  private func askForToken(of push: UnsafeMutablePointer<Push>) {
    let envelope = push.pointee.envelope
    guard envelope.pushType.authentication != .certificate else { return }
    let name = push.pointee.field(envelope.app)
    // Once a second for each app: a backlog must not become a flood of messages.
    let hash =
      DeviceHash.of(name.bindMemory(to: UInt8.self).span)
      &+ UInt64(envelope.environment.rawValue)
    guard wantedTokens.remaining(hash, now: now) == 0 else { return }
    wantedTokens.hold(hash, until: now + 1_000)
    let app = String(decoding: name, as: UTF8.self)
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: nil, app: app, environment: envelope.environment, reason: "missing",
          at: wall)))
  }

  func askForToken(_ pool: GatewayPool, reason: String) {
    guard pool.waiting.health.asksForToken(now: now) else { return }
    counters.add(.tokenRequests)
    control.post(
      .tokenWanted(
        TokenRequest(
          credential: pool.credential, app: nil, environment: pool.environment, reason: reason,
          at: wall)))
  }

  /// Puts the pushes in line that a token now serves; the others keep their order and their time.
  func routeUnresolved() {
    for _ in 0..<unresolved.count {
      guard let slot = unresolved.popFirst() else { return }
      if let pool = pool(for: pushes[slot]) {
        pushes[slot].pointee.life.resume()
        fairness.answered(Fairness.noCredential)
        enqueue(slot, pool)
      } else {
        unresolved.append(slot)
      }
    }
  }

  /// Ends what has waited for a credential for too long, and what has expired meanwhile, also where a destination is
  /// held: four times a second.
  func expireHeld() {
    guard now >= nextHeldLook else { return }
    nextHeldLook = now + 250
    expireUnresolved()
    for pool in pools {
      guard let pool, !pool.waiting.isEmpty, pool.isHeld else { continue }
      for slot in pool.waiting.removeAll(where: { isExpired(pushes[$0]) }) {
        finish(slot, .expired)
      }
    }
  }

  private func expireUnresolved() {
    let limit = UInt64(settings.credentialWaitMilliseconds)
    // Not in the order in which they began to wait: some come back from a retry topic.
    for _ in 0..<unresolved.count {
      guard let slot = unresolved.popFirst() else { return }
      let push = pushes[slot]
      if isExpired(push) {
        finish(slot, .expired)
      } else if now - push.pointee.waitingSince >= limit, !mayBeKnown(push) {
        deadLetter(slot, .noCredential, nil)
      } else {
        unresolved.append(slot)
      }
    }
  }
}
