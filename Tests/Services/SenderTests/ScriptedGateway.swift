// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import HTTP2
import Synchronization
import TLS

/// What a scripted gateway has seen and done.
struct GatewayRecord: Sendable {
  struct Request: Sendable, Equatable {
    var connection: Int
    var stream: Int32
    var id: String
    var authorization: String?
  }

  var requests: [Request] = []
  var connections = 0
  var open = 0
  /// The connections that have ended.
  var ended: Set<Int> = []
  /// Connections that ended because the client broke HTTP/2, with what nghttp2 says.
  var violations: [String] = []
  /// The most streams that were open at once on one connection.
  var mostOpen = 0
  var handshakesResumed = 0
  var goAwaysByClient = 0
}

/// A gateway that does what a test says: one listener on one address, on a thread of its own.
final class ScriptedGateway: Sendable {
  /// What the script may do to a connection.
  struct Peer {
    let number: Int
    let http: HTTP2ServerConnection
  }

  enum Reply {
    case answer(Int, String = "")
    /// No answer, until the connection ends or `answerHeld`.
    case hold
    case reset(UInt32)
  }

  struct Script: Sendable {
    var limit: UInt32 = 1_000
    /// After the handshake, before anything is sent: SETTINGS are still queued.
    var connected: @Sendable (Peer) -> Void = { _ in }
    var reply: @Sendable (Peer, GatewayRecord.Request) -> Reply = { _, _ in .answer(200) }
    /// Called some hundred times a second for each connection.
    var tick: @Sendable (Peer) -> Void = { _ in }
    /// The listener takes connections; they wait unanswered otherwise.
    var accepts = true
  }

  let address: SocketAddress
  private let shared: Shared
  private nonisolated(unsafe) var thread: LoopThread?

  /// What the thread shares with the test; it may outlive the gateway by a moment.
  private final class Shared: Sendable {
    let record = Mutex(GatewayRecord())
    let script: Mutex<Script>
    let isStopping = Atomic(false)
    /// What is held is answered so.
    let release = Mutex<(status: Int, body: String)?>(nil)

    init(_ script: Script) { self.script = Mutex(script) }
  }

  /// - Parameter address: port 0 takes a free one.
  init(
    _ identity: TLSIdentity, on address: SocketAddress = .loopback(port: 0),
    clientTrust: ClientTrust? = nil, _ script: Script = Script()
  ) throws {
    let listener = try Socket.listening(on: address)
    self.address = listener.localAddress ?? address
    let shared = Shared(script)
    self.shared = shared
    let tls = try TLSContext.server(identity: identity, clientTrust: clientTrust)
    let fd = Handover(listener)
    thread = nil
    thread = try LoopThread(name: "gateway") {
      guard let socket = fd.take() else { return }
      try? Run(shared, tls).serve(socket)
    }
  }

  deinit { stop() }

  func stop() {
    shared.isStopping.store(true, ordering: .releasing)
    thread.take()?.join()
  }

  var seen: GatewayRecord { shared.record.withLock { $0 } }
  func change(_ change: @Sendable (inout Script) -> Void) {
    shared.script.withLock { change(&$0) }
  }
  /// Answers what is held, now.
  func answerHeld(_ status: Int = 200, _ body: String = "") {
    shared.release.withLock { $0 = (status, body) }
  }

  /// Everything that lives on the thread.
  private final class Run {
    let shared: Shared
    let tls: TLSContext
    let poller: Poller
    let pool = ServerRequestPool()
    let scratch = ConnectionScratch()
    var peers: [Int: Peer] = [:]
    var greeted: Set<Int> = []
    var held: [UnsafeMutablePointer<ServerRequest>] = []
    var next = 1

    init(_ shared: Shared, _ tls: TLSContext) throws {
      self.shared = shared
      self.tls = tls
      poller = try Poller()
    }

    func serve(_ listener: consuming Socket) throws {
      try poller.add(listener.fd, token: 0, .readable)
      var events: [ReadyEvent] = []
      var arrived: [UnsafeMutablePointer<ServerRequest>] = []
      while !shared.isStopping.load(ordering: .acquiring) {
        poller.wait(timeoutMilliseconds: 2, into: &events)
        let script = shared.script.withLock { $0 }
        if script.accepts, events.contains(where: { $0.token == 0 }) {
          while let socket = try listener.accept() { try begin(socket, script) }
        }
        for event in events where event.token != 0 {
          guard let peer = peers[Int(event.token)] else { continue }
          peer.http.socketReady(
            readable: event.readable, writable: event.writable, hangup: event.hangup)
          if peer.http.isConnected, greeted.insert(peer.number).inserted { script.connected(peer) }
        }
        pool.takeReady(into: &arrived)
        for request in arrived { take(request, script) }
        if let answer = shared.release.withLock({ $0.take() }) { release(answer) }
        for peer in peers.values { finish(peer, script) }
      }
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
      let number = Int(request.pointee.connectionToken)
      guard let peer = peers[number] else {
        return ServerRequest.forget(request, pool)
      }
      let entry = GatewayRecord.Request(
        connection: number, stream: request.pointee.streamID,
        id: request.pointee.text("apns-id") ?? "",
        authorization: request.pointee.text("authorization"))
      shared.record.withLock {
        $0.requests.append(entry)
        $0.mostOpen = max($0.mostOpen, peer.http.openStreams)
      }
      switch script.reply(peer, entry) {
      case .hold: held.append(request)
      case .reset(let code): HTTP2ServerConnection.drop(request, code: code, pool: pool)
      case .answer(let status, let body): answer(request, status, body)
      }
    }

    private func answer(
      _ request: UnsafeMutablePointer<ServerRequest>, _ status: Int, _ body: String
    ) {
      // Header values and bodies must last: the request's own scratch memory does.
      let text = Array("\(status)\(body)".utf8)
      request.pointee.scratch.update(from: text, count: text.count)
      let bytes = UnsafeRawBufferPointer(start: request.pointee.scratch, count: text.count)
      var headers = HeaderList()
      headers.append(":status", UnsafeRawBufferPointer(rebasing: bytes[..<3]))
      HTTP2ServerConnection.respond(
        request, headers, body: UnsafeRawBufferPointer(rebasing: bytes[3...]), pool: pool)
    }

    private func release(_ given: (status: Int, body: String)) {
      for request in held { answer(request, given.status, given.body) }
      held = []
    }

    private func finish(_ peer: Peer, _ script: Script) {
      if peer.http.isConnected { script.tick(peer) }
      peer.http.flush()
      for notice in peer.http.takeNotices() {
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
}

/// A listener on its way to the thread that owns it.
final class Handover: Sendable {
  private let box: Mutex<Socket?>
  init(_ socket: consuming Socket) { box = Mutex(socket) }
  func take() -> Socket? { box.withLock { $0.take() } }
}

extension ServerRequest {
  /// The value of a header field.
  func text(_ name: String) -> String? {
    for index in 0..<keptFields where self.name(index).elementsEqual(name.utf8) {
      return String(decoding: value(index), as: UTF8.self)
    }
    return nil
  }

  static func forget(_ request: UnsafeMutablePointer<ServerRequest>, _ pool: ServerRequestPool) {
    HTTP2ServerConnection.drop(request, code: HTTP2ErrorCode.cancel, pool: pool)
  }
}
