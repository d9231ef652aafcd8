// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Synchronization

/// Everything of a scripted gateway that lives on its thread.
final class ScriptedGatewayLoop {
  typealias Peer = ScriptedGateway.Peer
  typealias Script = ScriptedGateway.Script

  /// A request without an answer, by its place in the record.
  private struct Pending {
    var request: UnsafeMutablePointer<ServerRequest>
    var number: Int
    var answer = GatewayReply.Answer()
    /// Monotonic milliseconds at which it is answered.
    var at: UInt64 = 0
  }

  /// The id of a request that came without one.
  private static let ownID = "0F0E0D0C-0B0A-4090-8070-605040302010"

  private let shared: ScriptedGateway.Shared
  private let tls: TLSContext
  private let address: SocketAddress
  private let poller: Poller
  private let pool = ServerRequestPool()
  private let scratch = ConnectionScratch()
  private var listener: Socket?
  private var isListening = false
  private var peers: [Int: Peer] = [:]
  private var greeted: Set<Int> = []
  private var held: [Pending] = []
  private var due: [Pending] = []
  private var next = 1

  init(_ shared: ScriptedGateway.Shared, _ tls: TLSContext, _ address: SocketAddress) throws {
    self.shared = shared
    self.tls = tls
    self.address = address
    poller = try Poller()
  }

  /// Runs until the gateway stops.
  func serve(_ socket: consuming Socket) throws {
    try listen(socket)
    var events: [ReadyEvent] = []
    var arrived: [UnsafeMutablePointer<ServerRequest>] = []
    while !shared.isStopping.load(ordering: .acquiring) {
      poller.wait(timeoutMilliseconds: due.isEmpty ? 2 : 1, into: &events)
      let script = shared.script.withLock { $0 }
      if script.listens != isListening {
        if script.listens { listenAgain() } else { close() }
      }
      for event in events { try handle(event, script) }
      pool.drainReady(into: &arrived)
      for request in arrived { take(request, script) }
      if let answer = shared.release.withLock({ $0.take() }) { release(answer) }
      answerDue()
      for peer in peers.values { finish(peer, script) }
    }
  }

  private func listen(_ socket: consuming Socket) throws {
    try poller.add(socket.fd, token: 0, .readable)
    listener = consume socket
    isListening = true
  }

  /// Tried again in the next turn if somebody has the port.
  private func listenAgain() {
    if let socket = try? Socket.listening(on: address) { try? listen(socket) }
  }

  private func close() {
    if let closing = listener.take() { poller.remove(closing.fd) }
    isListening = false
    for peer in peers.values { peer.http.close() }
  }

  private func handle(_ event: ReadyEvent, _ script: Script) throws {
    guard event.token != 0 else {
      guard script.accepts else { return }
      while let socket = try listener?.accept() { try begin(socket, script) }
      return
    }
    guard let peer = peers[Int(event.token)] else { return }
    peer.http.socketReady(readable: event.readable, writable: event.writable, hangup: event.hangup)
    if peer.http.isConnected, greeted.insert(peer.number).inserted { script.connected(peer) }
  }

  private func begin(_ socket: consuming Socket, _ script: Script) throws {
    let number = next
    next += 1
    peers[number] = Peer(
      number: number,
      http: try HTTP2ServerConnection(
        accepted: socket, poller: poller, token: UInt64(number), tls: tls,
        settings: .gateway(maxConcurrentStreams: script.limit), pool: pool, scratch: scratch))
    shared.record.withLock {
      $0.connections += 1
      $0.open += 1
    }
  }

  private func take(_ request: UnsafeMutablePointer<ServerRequest>, _ script: Script) {
    guard let peer = peers[Int(request.pointee.connectionToken)] else {
      HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
      return
    }
    let now = MonotonicClock.milliseconds()
    let entry = GatewayRecord.Request(request.pointee, on: peer.number, at: now)
    let number = shared.record.withLock {
      $0.requests.append(entry)
      $0.mostOpen = max($0.mostOpen, peer.http.openStreams)
      return $0.requests.count - 1
    }
    var pending = Pending(request: request, number: number)
    switch script.reply(peer, entry) {
    case .hold: held.append(pending)
    case .reset(let code): HTTP2ServerConnection.drop(request, code: code, pool: pool)
    case .answer(let answer):
      pending.answer = answer
      pending.at = now + answer.milliseconds
      due.append(pending)
    }
  }

  private func release(_ answer: GatewayReply.Answer) {
    for index in held.indices { held[index].answer = answer }
    due += held
    held = []
  }

  private func answerDue() {
    guard !due.isEmpty else { return }
    let now = MonotonicClock.milliseconds()
    for pending in due where pending.at <= now { answer(pending, now) }
    due.removeAll { $0.at <= now }
  }

  private func answer(_ pending: Pending, _ now: UInt64) {
    let (request, answer) = (pending.request, pending.answer)
    shared.record.withLock {
      $0.requests[pending.number].answeredAt = now
      $0.requests[pending.number].status = answer.status
    }
    // Header values and the body must last: the request's own scratch memory does, and what does not fit is never freed.
    var used = 0
    func kept(_ text: String) -> UnsafeRawBufferPointer {
      let count = text.utf8.count
      let fits = used + count <= ServerRequest.scratchCapacity
      let place = fits ? request.pointee.scratch + used : .allocate(capacity: count)
      for (index, byte) in text.utf8.enumerated() { place[index] = byte }
      if fits { used += count }
      return UnsafeRawBufferPointer(start: place, count: count)
    }
    var headers = HeaderList()
    headers.append(":status", kept("\(answer.status)"))
    if !answer.retryAfter.isEmpty { headers.append("retry-after", kept(answer.retryAfter)) }
    if !answer.date.isEmpty { headers.append("date", kept(answer.date)) }
    let isBroadcast = request.pointee.text("apns-id") == nil
    if isBroadcast, answer.identifier == nil, let id = request.pointee.text("apns-request-id") {
      headers.append("apns-request-id", kept(id))
    }
    let id = answer.identifier ?? request.pointee.text("apns-id") ?? Self.ownID
    if !id.isEmpty { headers.append("apns-id", kept(id)) }
    if !answer.requestIdentifier.isEmpty {
      headers.append("apns-request-id", kept(answer.requestIdentifier))
    }
    HTTP2ServerConnection.respond(request, headers, body: kept(answer.body), pool: pool)
  }

  private func finish(_ peer: Peer, _ script: Script) {
    if peer.http.isConnected { script.tick(peer) }
    peer.http.flush()
    for notice in peer.http.drainNotices() {
      shared.record.withLock { record in
        switch notice {
        case .connected(let isResumed): record.handshakesResumed += isResumed ? 1 : 0
        case .goAway: record.goAwaysByClient += 1
        case .closed(let failure):
          record.open -= 1
          record.ended.insert(peer.number)
          if case .http2(let words) = failure { record.violations.append(words) }
          peers[peer.number] = nil
        default: break
        }
      }
    }
  }
}

extension GatewayRecord.Request {
  fileprivate init(_ request: ServerRequest, on connection: Int, at now: UInt64) {
    self.init(
      connection: connection, stream: request.streamID, id: request.text("apns-id") ?? "",
      token: request.text(":path")?.split(separator: "/").last.map(String.init) ?? "",
      topic: request.text("apns-topic") ?? "", authorization: request.text("authorization"),
      at: now)
  }
}

extension ServerRequest {
  /// The value of a header field.
  fileprivate func text(_ name: String) -> String? {
    for index in 0..<keptFields where self.name(index).elementsEqual(name.utf8) {
      return String(decoding: value(index), as: UTF8.self)
    }
    return nil
  }
}
