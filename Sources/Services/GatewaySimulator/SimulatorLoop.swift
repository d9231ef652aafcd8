// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import EventLoop
import HTTP2
import ServiceKit
import TLS

/// One thread of the gateway: its listener, its connections and the requests on them.
final class SimulatorLoop {
  private let settings: SimulatorSettings
  private let context: ServiceContext
  private let shared: LoopShare
  private let tls: TLSContext
  private let poller: Poller
  private let wakeup = Wakeup()
  private var listener: Socket?
  private let pool: ServerRequestPool
  private let scratch = ConnectionScratch()
  private var connections: [GatewayConnection?] = []
  private var freeSlots: [Int] = []
  private var touched: [GatewayConnection] = []
  private var ready: [UnsafeMutablePointer<ServerRequest>] = []
  private var wheel: AnswerWheel
  private var answers: Answers
  private var validator: PushValidator
  private var knownVersion: Int
  private var random: RandomSource
  private var now: UInt64
  private var wallNow: Int64
  private var drainEnds: UInt64?

  private static let listenerToken: UInt64 = 0
  private static let wakeupToken: UInt64 = 1
  private static let firstConnectionToken: UInt64 = 2

  init(
    _ settings: SimulatorSettings, _ context: ServiceContext, _ share: LoopShare, tls: TLSContext,
    listener: consuming Socket
  ) throws(SystemError) {
    self.settings = settings
    self.context = context
    self.tls = tls
    shared = share
    pool = ServerRequestPool(keepsContent: !settings.isFast)
    answers = Answers(isSandbox: settings.environment == .sandbox)
    knownVersion = share.world.version
    validator = share.world.validator(settings.environment)
    random = RandomSource(seed: MonotonicClock.nanoseconds())
    now = MonotonicClock.milliseconds()
    wallNow = WallClock.milliseconds()
    wheel = AnswerWheel(now: now)
    poller = try Poller()
    try poller.add(listener.fd, token: Self.listenerToken, .readable)
    try poller.add(wakeup.fd, token: Self.wakeupToken, .readable)
    self.listener = consume listener
    context.signals.subscribe(wakeup)
  }

  /// Serves until a stop was requested and everything open is answered, or the time for that is up.
  func run() {
    var events: [ReadyEvent] = []
    while !isDone {
      poller.wait(timeoutMilliseconds: timeout, into: &events)
      now = MonotonicClock.milliseconds()
      wallNow = WallClock.milliseconds()
      if shared.world.version != knownVersion { learn() }
      for event in events { handle(event) }
      pool.takeReady(into: &ready)
      if !ready.isEmpty { take() }
      answerDue()
      flush()
      if drainEnds == nil, context.signals.isStopping { drain() }
    }
    for connection in connections { connection?.http.close() }
  }

  private var timeout: Int32 {
    guard let wait = wheel.wait(from: now) else { return drainEnds == nil ? 1_000 : 20 }
    return Int32(min(wait, drainEnds == nil ? 1_000 : 20))
  }

  private var isDone: Bool {
    guard let drainEnds else { return false }
    return now >= drainEnds || freeSlots.count == connections.count
  }

  private func learn() {
    knownVersion = shared.world.version
    validator = shared.world.validator(settings.environment)
  }

  // MARK: Connections

  private func handle(_ event: ReadyEvent) {
    switch event.token {
    case Self.listenerToken: accept()
    case Self.wakeupToken: wakeup.clear()
    default:
      guard let connection = connections[Int(event.token - Self.firstConnectionToken)] else {
        return
      }
      connection.http.socketReady(
        readable: event.readable, writable: event.writable, hangup: event.hangup)
      touch(connection)
    }
  }

  private func accept() {
    do throws(SystemError) {
      while let socket = try listener?.accept() { open(socket) }
    } catch {
      context.log.warning("cannot accept a connection", ["error": "\(error)"])
    }
  }

  private func open(_ socket: consuming Socket) {
    let slot = freeSlots.popLast() ?? connections.count
    if slot == connections.count { connections.append(nil) }
    let limit = settings.primes ? 1 : settings.maxConcurrentStreams
    do throws(ConnectionFailure) {
      let http = try HTTP2ServerConnection(
        accepted: socket, poller: poller, token: UInt64(slot) + Self.firstConnectionToken,
        tls: tls, settings: .gateway(maxConcurrentStreams: limit), pool: pool, scratch: scratch)
      connections[slot] = GatewayConnection(http, slot: slot, limit: limit)
      shared.counters.add(.connections)
      shared.counters.set(.open, connections.count - freeSlots.count)
    } catch {
      freeSlots.append(slot)
      context.log.warning("cannot serve a connection", ["error": "\(error)"])
    }
  }

  private func touch(_ connection: GatewayConnection) {
    guard !connection.isTouched else { return }
    connection.isTouched = true
    touched.append(connection)
  }

  private func flush() {
    for connection in touched {
      connection.isTouched = false
      connection.http.flush()
      report(connection)
      if connection.http.isClosed {
        connections[connection.slot] = nil
        freeSlots.append(connection.slot)
        shared.counters.set(.open, connections.count - freeSlots.count)
      }
    }
    touched.removeAll(keepingCapacity: true)
  }

  private func report(_ connection: GatewayConnection) {
    for notice in connection.http.takeNotices() {
      guard case .closed(let failure?) = notice, failure != .peerClosed else { continue }
      context.log.info("a connection broke", ["error": "\(failure)"])
    }
  }

  /// A stop: no new connections, no new requests, answers to the open ones.
  private func drain() {
    drainEnds = now + UInt64(settings.drainTimeoutMilliseconds)
    if let closing = listener.take() { poller.remove(closing.fd) }
    for case let connection? in connections {
      connection.http.sendGoAway(debug: Array("{\"reason\":\"Shutdown\"}".utf8))
      touch(connection)
    }
    flush()
  }

  // MARK: Requests

  private func take() {
    shared.counters.add(.requests, ready.count)
    for request in ready {
      // One that was given up before it was looked at counts as never processed.
      if !settings.isFast, request.pointee.isAlive { examine(request) }
      if settings.latency == .none {
        answer(request)
      } else {
        request.pointee.due = now + settings.latency.milliseconds(random.next())
        wheel.add(request)
      }
    }
  }

  /// Checks a request, records it, and leaves what its answer needs in its scratch memory.
  private func examine(_ request: UnsafeMutablePointer<ServerRequest>) {
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    let push = PushFields(request.pointee)
    guard let connection = connections[slot] else { return }
    var isAuthenticated = false
    let refusal = validator.refusal(
      of: push, binding: &connection.binding, isAuthenticated: &isAuthenticated, now: wallNow)
    if isAuthenticated { connection.isAuthenticated = true }
    let scratch = request.pointee.scratch
    let id: NotificationID
    if let text = push.identifier, text.count == NotificationID.textLength, let sent = text.id {
      // Echoed byte for byte.
      UnsafeMutableRawPointer(scratch + Answers.idOffset).copyMemory(
        from: text.baseAddress.unsafelyUnwrapped, byteCount: text.count)
      id = sent
    } else {
      id = random.nextID()
      id.write(to: scratch + Answers.idOffset)
    }
    if settings.environment == .sandbox {
      random.nextID().write(to: scratch + Answers.uniqueIDOffset)
    }
    if let refusal { request.pointee.verdict = encode(refusal, scratch) }
    if !shared.log.append(push, id: id, refusal: refusal, time: wallNow) {
      shared.counters.add(.recordsDropped)
    }
  }

  /// The verdict as the number that a request carries: 0 is accepted, else reason + 1, and from bit 8
  /// on how long the body in the scratch memory is.
  private func encode(_ refusal: Refusal, _ scratch: UnsafeMutablePointer<UInt8>) -> UInt32 {
    var count = 0
    if let timestamp = refusal.timestamp {
      let text = "{\"reason\":\"\(refusal.reason.name)\",\"timestamp\":\(timestamp)}"
      for byte in text.utf8 {
        scratch[Answers.bodyOffset + count] = byte
        count += 1
      }
    }
    return UInt32(refusal.reason.rawValue) + 1 | UInt32(count) << 8
  }

  private func answerDue() {
    var next = wheel.due(by: now)
    while let request = next {
      next = request.pointee.link
      answer(request)
    }
  }

  private func answer(_ request: UnsafeMutablePointer<ServerRequest>) {
    let verdict = request.pointee.verdict
    let slot = Int(request.pointee.connectionToken - Self.firstConnectionToken)
    guard request.pointee.isAlive, let connection = connections[slot] else {
      shared.counters.add(.abandoned)
      HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
      return
    }
    touch(connection)
    if settings.isFast {
      shared.counters.add(.accepted)
      _ = answers.acceptConstantly(request, pool)
    } else if let reason = Reason(rawValue: UInt8(truncatingIfNeeded: verdict & 255) &- 1) {
      refuse(request, connection, reason, bodyCount: Int(verdict >> 8))
    } else {
      shared.counters.add(.accepted)
      _ = answers.accept(request, pool)
      allow(connection, connection.isAuthenticated ? settings.maxConcurrentStreams : 1)
    }
  }

  private func refuse(
    _ request: UnsafeMutablePointer<ServerRequest>, _ connection: GatewayConnection,
    _ reason: Reason, bodyCount: Int
  ) {
    shared.reasons.add(reason)
    let isGone = reason.rule.status == 410
    shared.counters.add(isGone ? .unregistered : .rejected)
    _ = answers.refuse(request, reason, bodyCount: bodyCount, pool)
    if settings.dropsLimit && !isGone {
      allow(connection, 1)
    } else if connection.isAuthenticated, !connection.isReduced {
      allow(connection, settings.maxConcurrentStreams)
    }
  }

  /// Tells the client a new limit if it is one.
  private func allow(_ connection: GatewayConnection, _ limit: UInt32) {
    guard settings.primes || settings.dropsLimit, connection.limit != limit else { return }
    connection.isReduced = limit < connection.limit
    connection.limit = limit
    connection.http.updateSettings(maxConcurrentStreams: limit)
  }
}
