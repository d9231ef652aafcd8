// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewayModel
import HTTP2
import ServiceKit

extension SimulatorLoop {
  func accept(_ place: Int) {
    let listener = listeners[place]
    do throws(SystemError) {
      while let socket = try listener.accept() { arrivals.add(socket, listener) }
    } catch {
      context.log(SimulatorLog.notAccepted, ["error": "\(error)"])
    }
  }

  /// Starts the handshakes of the oldest waiting sockets.
  func admitArrivals() {
    while let arrival = arrivals.takeFirst(now: now) {
      if let socket = arrival.take() { open(socket, arrival.listener) }
    }
  }

  /// Counts a finished handshake.
  func noteHandshake(of connection: GatewayConnection) {
    guard connection.isHandshaking, connection.http.isConnected || connection.http.isClosed else {
      return
    }
    connection.isHandshaking = false
    arrivals.handshakes -= 1
  }

  private func open(_ socket: consuming Socket, _ listener: GatewayListener) {
    let peer = socket.peerAddress
    guard admits(peer) else {
      shared.counters.add(.connectionsRefused)
      socket.abort()
      return
    }
    var plan = ConnectionPlan(
      id: shared.world.nextConnectionID(), tls: tls,
      settings: .gateway(maxConcurrentStreams: settings.rules.maxConcurrentStreams))
    if !settings.isFast {
      plan.settings.maxConcurrentStreams = nil
      connectionAccepted(&plan, from: peer, listener)
    }
    if plan.isRefused {
      shared.counters.add(.connectionsRefused)
      if plan.isReset { socket.abort() }
      return
    }
    let slot = freeSlots.popLast() ?? connections.count
    if slot == connections.count { connections.append(nil) }
    do throws(ConnectionFailure) {
      let http = try HTTP2ServerConnection(
        accepted: socket, poller: poller, token: UInt64(slot) + Self.firstConnectionToken,
        tls: plan.tls, settings: settings.isFast ? plan.settings : nil, pool: pool,
        scratch: scratch, closing: closing)
      let connection = GatewayConnection(
        http, slot: slot, id: plan.id, role: listener.role,
        settings: plan.settings, openedAt: wallNow)
      connection.access.address = peer?.host ?? ""
      if !settings.isFast {
        http.chooseSettings = { [unowned self, unowned connection] _ in greet(connection) }
      }
      connection.host = listener.host
      connection.acceptedAt = now
      connections[slot] = connection
      arrivals.handshakes += 1
      if plan.faults != nil { connectionOpened(connection, plan) }
      shared.counters.add(.connections)
      shared.counters.set(.open, connections.count - freeSlots.count)
    } catch {
      freeSlots.append(slot)
      context.log(SimulatorLog.notServed, ["error": "\(error)"])
    }
  }

  private func admits(_ peer: SocketAddress?) -> Bool {
    guard known.rules.connectionRate > 0, let peer else { return true }
    let (rules, now) = (known.rules, wallNow)
    return shared.world.withExchange { $0.connectionRate.admits(peer.host, rules, now: now) }
  }

  /// TLS is established: checks the client's certificate and returns the first SETTINGS.
  private func greet(_ connection: GatewayConnection) -> SessionSettings {
    if let certificate = connection.http.clientCertificate {
      let isBroken =
        connection.http.clientCertificateProblem != nil
        || known.certificates[certificate.fingerprint] ?? .active != .active
      let access = CertificateAccess(certificate, connection.role.environment, isBroken: isBroken)
      connection.access.certificate = access
      connection.isRefused = access.problem != nil && known.rules.badCertificate != .status
    }
    let model = ConnectionModel(
      hasCertificate: connection.access.certificate != nil, known.rules, now: wallNow)
    connection.model = model
    connection.http.faulty?.endsAboveLimit = known.rules.streamAboveLimit == .goAway
    var settings = connection.settings
    if settings.maxConcurrentStreams == nil {
      settings.maxConcurrentStreams = connection.permitted(model.limit)
    }
    return settings
  }

  /// Adds a connection to the list of those to flush at the end of the turn.
  func touch(_ connection: GatewayConnection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  func flush() {
    for connection in touched {
      connection.isTouched = false
      connection.http.flush()
      logEnd(of: connection)
      if connection.http.isClosed {
        noteHandshake(of: connection)
        if connection.faults != nil { shared.faults.forget(connection: connection.id) }
        connections[connection.slot] = nil
        freeSlots.append(connection.slot)
        shared.counters.set(.open, connections.count - freeSlots.count)
      }
    }
    touched.removeAll(keepingCapacity: true)
  }

  private func logEnd(of connection: GatewayConnection) {
    for notice in connection.http.drainNotices() {
      guard case .closed(let failure?) = notice, failure != .peerClosed else { continue }
      context.log(SimulatorLog.connectionLost, ["error": "\(failure)"])
    }
  }

  /// The debug data of a GOAWAY as APNs writes it.
  static func words(_ reason: Reason) -> [UInt8] { Array("{\"reason\":\"\(reason.name)\"}".utf8) }

  /// Ends a connection after the responses to its open streams.
  func end(_ connection: GatewayConnection, _ reason: Reason) {
    switch known.rules.goAwayForm {
    case .json: connection.http.sendGoAway(debug: Self.words(reason))
    case .text: connection.http.sendGoAway(debug: Array("\(reason.name) on this endpoint.".utf8))
    case .twice:
      connection.http.sendGoAway(debug: Self.words(reason))
      connection.http.sendGoAway()
    }
    shared.counters.add(.goAways)
    touch(connection)
  }

  /// Carries out a command of the admin API.
  func handle(_ command: LoopCommand) {
    switch command {
    case .wake: break
    case .goAway(let id, let reason, let keepsOpen):
      for case let connection? in connections where connection.id == id {
        if keepsOpen { connection.http.staysOpen = true }
        end(connection, reason)
      }
    case .report(let question):
      shared.reports.answer(question, connections.compactMap { $0.map(report) })
    }
  }

  private func report(_ connection: GatewayConnection) -> ConnectionReport {
    let certificate = connection.access.certificate
    return ConnectionReport(
      id: connection.id, role: connection.role, peer: connection.access.address,
      serverName: connection.isReady ? connection.http.requestedName : nil,
      openedAt: connection.openedAt,
      certificateTopics: certificate?.topics.map { String(decoding: $0, as: UTF8.self) } ?? [],
      hasCertificate: certificate != nil, team: connection.access.binding.team,
      keyIDs: connection.access.binding.keyIDs,
      limit: connection.permitted(connection.model?.limit ?? 0),
      openStreams: connection.http.openStreams, requests: connection.requests,
      errorScore: connection.model?.errorScore ?? 0)
  }

  /// Stops: no new connections and requests, only responses to the open ones.
  func drain() {
    drainEnds = now + UInt64(settings.drainTimeoutMilliseconds)
    for listener in listeners {
      poller.remove(listener.fd)
      listener.close()
    }
    arrivals.removeAll()
    for case let connection? in connections {
      connection.http.sendGoAway(debug: Self.words(.shutdown))
      // A connection that a fault has silenced is closed without waiting.
      if connection.faults?.closesAt != nil { connection.http.close() }
      touch(connection)
    }
    flush()
  }
}
