// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto
import EventLoop
import Glibc
public import HTTP

/// The events of a `StreamServer`. All calls come from `StreamServer.turn`, on its thread.
public protocol StreamHandler: AnyObject {
  /// The header of a request is there. An answer ends it here, before its body is read; nil lets the body come.
  func began(_ exchange: StreamExchange) -> HTTPResponse?
  /// A part of the body is there. Returns how many bytes were taken; if not all, the exchange was paused, and the rest
  /// comes again when it goes on.
  func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int
  /// The body is complete; `answer` is called when the answer is known.
  func ended(_ exchange: StreamExchange)
  /// The exchange is over: answered, also for want of room (`isTurnedAway`), or the client has gone.
  func gone(_ exchange: StreamExchange)
}

/// An HTTP/1.1 server whose bodies are handled as they arrive, on the thread of its owner, which polls it together with
/// other things. Bodies may be of any length, and an exchange may wait for something else before it is answered.
///
/// It reads one piece of a connection per turn, and refuses what RFC 9112 calls an error (`HTTP1`). With an identity it
/// speaks TLS 1.2 and 1.3.
public final class StreamServer {
  /// The server's certificate chain and key, PEM.
  public struct Identity: Sendable {
    public let certificate: [UInt8]
    public let key: [UInt8]

    public init(certificate: [UInt8], key: [UInt8]) {
      self.certificate = certificate
      self.key = key
    }

    func context() throws(HTTPServerError) -> TLSContext {
      do throws(TLSError) {
        return try .webServer(identity: TLSIdentity(certificates: certificate, key: key))
      } catch {
        throw HTTPServerError(description: "\(error)")
      }
    }
  }

  private static let listening: UInt64 = 0
  /// Connections that are accepted in a turn. Few beside the limit: one whose request waits in its socket is read before
  /// it is the oldest that makes room.
  private let atATime: Int
  /// The interval at which deadlines are looked at, in milliseconds.
  private static let tick: UInt64 = 100

  weak var handler: (any StreamHandler)?
  /// Words a refusal as the server's other answers are worded.
  let refusal: (RequestProblem) -> HTTPResponse
  let guarding: BrowserGuard
  let idleMilliseconds: UInt64
  let keepAliveMilliseconds: UInt64
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
  /// Memory of connections that wait for a request.
  var spare = TLSBuffers()
  var clients: OpenClients
  var pending: Set<Int> = []
  private(set) var now = MonotonicClock.milliseconds()
  private(set) var isStopping = false
  /// Bytes that exchanges hold in memory, by their own account.
  public internal(set) var held = 0
  /// Bytes that exchanges keep in files, by their own account.
  public internal(set) var stored = 0
  /// Requests that were no HTTP, since the start.
  public internal(set) var refusedHeads = 0
  private var open: [Int: ServerConnection] = [:]
  private var context: TLSContext?
  private var listener: Socket?
  private var isAccepting = true
  private let poller: Poller
  private var ready: [ReadyEvent] = []
  private var lastID = 0
  private var lookAt: UInt64 = 0
  private var dated: (second: UInt64, text: String) = (0, "")
  public let port: UInt16

  /// Starts listening; nothing is accepted before the first `turn`.
  ///
  /// - Parameters:
  ///   - host: a numeric address.
  ///   - port: 0 takes a free one.
  ///   - connections: how many may be open, at least 8 (`OpenClients`).
  ///   - idleSeconds: a head must be complete after so long, and in a body or an answer so long without a byte ends the
  ///     connection. Paused ones are not idle.
  ///   - keepAliveSeconds: for so long a connection waits for its next request; `idleSeconds` unless told.
  ///   - identity: for TLS; nil for plain text.
  ///   - guarding: under which names it answers.
  ///   - refusal: the answer to what is no request, or finds no place; a line of text unless told.
  ///   - handler: not kept alive by the server.
  public init(
    host: String, port: UInt16, connections: Int, idleSeconds: UInt32,
    keepAliveSeconds: UInt32? = nil, identity: Identity?, guarding: BrowserGuard = .anyHost,
    refusal: @escaping (RequestProblem) -> HTTPResponse = {
      .text("\($0.text)\n", status: $0.status)
    }, handler: any StreamHandler
  ) throws(HTTPServerError) {
    guard let address = SocketAddress(numeric: host, port: port) else {
      throw HTTPServerError(description: "\(host) is not a numeric address")
    }
    context = try identity?.context()
    do throws(SystemError) {
      let socket = try Socket.listening(on: address)
      self.port = socket.localAddress?.port ?? port
      poller = try Poller(capacity: 256)
      try poller.add(socket.fd, token: Self.listening, .readable)
      listener = consume socket
    } catch {
      throw HTTPServerError(description: "cannot listen on \(address): \(error)")
    }
    self.handler = handler
    self.guarding = guarding
    self.refusal = refusal
    idleMilliseconds = UInt64(idleSeconds) * 1_000
    keepAliveMilliseconds = UInt64(keepAliveSeconds ?? idleSeconds) * 1_000
    clients = OpenClients(limit: connections)
    atATime = max(1, min(64, connections / 8))
  }

  deinit {
    for connection in open.values { connection.close() }
    scratch.deallocate()
  }

  /// The descriptor to watch for reading; then comes a `turn`.
  public var fd: Int32 { poller.fd }

  /// Milliseconds after which a `turn` is due without any event; nil if none is.
  public var timeout: Int32? {
    if !pending.isEmpty { return 0 }
    return open.isEmpty && isAccepting ? nil : Int32(Self.tick)
  }

  public var connections: Int { open.count }

  /// The bytes that the exchanges of an owner hold in memory.
  public func held(by owner: ExactText) -> Int {
    open.values.reduce(0) { $0 + ($1.exchange?.owner == owner ? $1.exchange?.held ?? 0 : 0) }
  }

  /// The bytes that the exchanges of an owner keep in files.
  public func stored(by owner: ExactText) -> Int {
    open.values.reduce(0) { $0 + ($1.exchange?.owner == owner ? $1.exchange?.stored ?? 0 : 0) }
  }

  public var hasUnsent: Bool { open.values.contains { $0.hasUnsent } }

  /// Shows another certificate from the next connection on.
  public func show(_ identity: Identity) throws(HTTPServerError) {
    context = try identity.context()
  }

  /// Accepts, reads and writes what can be without waiting.
  public func turn() {
    now = MonotonicClock.milliseconds()
    for id in pending { work(id) { $0.work() } }
    poller.wait(timeoutMilliseconds: 0, into: &ready)
    for event in ready {
      guard event.token != Self.listening else {
        accept()
        continue
      }
      work(Int(event.token)) { $0.handle(event) }
    }
    guard now >= lookAt else { return }
    lookAt = now + Self.tick
    endLate()
    if !isAccepting, !isStopping { watchListener(true) }
  }

  /// Takes no further connections; those that are open go on.
  public func stopListening() {
    isStopping = true
    watchListener(false)
    listener = nil
  }

  private func work(_ id: Int, _ body: (ServerConnection) -> Void) {
    pending.remove(id)
    guard let connection = open[id] else { return }
    body(connection)
    if connection.isClosed { remove(connection) }
  }

  private func endLate() {
    for connection in open.values where now >= connection.deadline ?? .max {
      connection.close()
      remove(connection)
    }
  }

  private func end(_ id: Int) {
    guard let connection = open[id] else { return }
    connection.close()
    remove(connection)
  }

  private func remove(_ connection: ServerConnection) {
    clients.left(connection.id)
    pending.remove(connection.id)
    poller.remove(connection.fd)
    open[connection.id] = nil
  }

  func watch(_ connection: ServerConnection) {
    try? poller.modify(connection.fd, token: UInt64(connection.id), connection.interest)
  }

  /// Admits a request that the handler takes: nil if there is room for it; otherwise its answer.
  func admit(_ exchange: StreamExchange, _ connection: ServerConnection) -> HTTPResponse? {
    guard let owner = exchange.owner else { return nil }
    switch clients.accept(connection.id, owner: owner, now: now) {
    case .enters: return nil
    case .replaces(let id):
      end(id)
      return nil
    case .refused:
      exchange.isTurnedAway = true
      return refusal(RequestProblem(503, "too many requests are open"))
    }
  }

  private func accept() {
    for _ in 0..<atATime {
      do throws(SystemError) {
        guard let socket = try listener?.accept() else { return }
        try enter(socket)
      } catch {
        // No descriptor is left: again with the next tick.
        return watchListener(false)
      }
    }
  }

  private func enter(_ socket: consuming Socket) throws(SystemError) {
    lastID += 1
    var tls: TLSConnection?
    if let context {
      guard let made = try? TLSConnection(server: context) else { return }
      tls = made
    }
    switch clients.enter(lastID, from: socket.peerAddress?.bytes ?? [], now: now) {
    case .enters: break
    case .replaces(let id): end(id)
    case .refused: return
    }
    let connection = ServerConnection(lastID, socket, tls, self)
    open[lastID] = connection
    do throws(SystemError) {
      try poller.add(connection.fd, token: UInt64(lastID), .readable)
    } catch {
      remove(connection)
      throw error
    }
  }

  private func watchListener(_ isWanted: Bool) {
    guard isWanted != isAccepting else { return }
    isAccepting = isWanted
    let fd = listener?.fd ?? -1
    if isWanted { try? poller.add(fd, token: Self.listening, .readable) } else { poller.remove(fd) }
  }

  /// The value of `Date`.
  var date: String {
    let second = now / 1_000
    if dated.second != second || dated.text.isEmpty { dated = (second, HTTPStatus.date()) }
    return dated.text
  }
}
