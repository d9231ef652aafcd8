// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import HTTP

/// One connection of a `StreamServer`: bytes in, one exchange at a time, bytes out.
final class ServerConnection {
  /// The most that is read ahead of the handler, and that is made ready of an answer, in bytes.
  private static let window = 64 << 10
  /// Bytes that a client still sends behind an answer that ends the connection are read and dropped until there are none
  /// for so long, and at most for so long, in milliseconds: a connection that is closed while bytes come is reset, and
  /// the answer with it, which many clients read only after their whole body.
  private static let lingerMilliseconds: UInt64 = 2_000
  private static let longestLingerMilliseconds: UInt64 = 30_000

  /// The most steps that one turn takes for a connection: so many pieces of a body or an answer. The smallest chunks
  /// cost most.
  private static let stepsPerTurn = 64

  /// The most bytes of a buffer that a connection keeps between two requests.
  private static let restingBytes = 4_096

  private enum Phase {
    case head
    case body
    /// The body is complete; the answer is not there yet.
    case waiting
    case answering
    /// The answer has left, and nothing more is expected.
    case lingering
    case closed
  }

  let id: Int
  let address: String
  weak var server: StreamServer?
  private let socket: Socket
  private let tls: TLSConnection?
  private var phase = Phase.head
  private var scanner = HeadScanner()
  private var inbox = ByteBuffer(capacity: 1_024)
  /// The bytes that wait for the socket without TLS.
  private var outbox = ByteBuffer(capacity: 512)
  private(set) var exchange: StreamExchange?
  private var left = 0
  private var chunks: ChunkedBody?
  private var response: ResponseSource?
  private var hasEnded = false
  /// There is something to do without an event.
  var isPending = false { didSet { if isPending { server?.pending.insert(id) } } }
  /// When the connection is given up; nil: not by time.
  private(set) var deadline: UInt64?
  private var lingersUntil: UInt64 = 0
  private(set) var interest = Interest.readable

  init(_ id: Int, _ socket: consuming Socket, _ tls: TLSConnection?, _ server: StreamServer) {
    self.id = id
    address = socket.peerAddress?.host ?? ""
    self.socket = socket
    self.tls = tls
    self.server = server
    deadline = server.now + server.idleMilliseconds
  }

  var fd: Int32 { socket.fd }
  var isClosed: Bool { if case .closed = phase { true } else { false } }
  var hasUnsent: Bool { response != nil || !isSent }

  private var isSent: Bool { outbox.isEmpty && (tls?.ciphertext.pointee.isEmpty ?? true) }

  // MARK: Events

  func handle(_ event: ReadyEvent) {
    if interest.contains(.readable), event.readable || event.hangup {
      read()
    } else if event.hangup {
      close()
    }
    work()
  }

  /// Goes on as far as possible.
  func work() {
    isPending = false
    var steps = 0
    while !isClosed, steps < Self.stepsPerTurn, step() { steps += 1 }
    if steps == Self.stepsPerTurn, !isClosed { isPending = true }
    if hasEnded, !isPending { endIfCutOff() }
    send()
    updateInterest()
  }

  func close() {
    guard !isClosed else { return }
    phase = .closed
    endExchange()
    response = nil
  }

  private func endExchange() {
    guard let exchange else { return }
    self.exchange = nil
    server?.handler?.gone(exchange)
    exchange.held = 0
    exchange.stored = 0
  }

  private func read() {
    guard let server else { return }
    let transfer = socket.read(into: server.scratch)
    switch transfer {
    case .wouldBlock: return
    case .end: hasEnded = true
    case .failed: return close()
    case .moved(let count):
      server.clients.heard(id, at: server.now)
      let end = server.now + server.idleMilliseconds
      switch phase {
      // From its first byte on; drops of it gain nothing.
      case .head: deadline = min(deadline ?? end, end)
      case .body: deadline = end
      case .lingering:
        deadline = min(lingersUntil, server.now + Self.lingerMilliseconds)
        return
      case .waiting, .answering, .closed: break
      }
      receive(UnsafeRawBufferPointer(rebasing: server.scratch[..<count]))
    }
    if hasEnded, case .lingering = phase { close() }
  }

  /// Nothing more comes: between requests, and in the middle of one, nobody waits for an answer.
  private func endIfCutOff() {
    switch phase {
    case .head: close()
    case .body: if exchange?.isPaused != true { close() }
    case .waiting, .answering, .lingering, .closed: break
    }
  }

  private func receive(_ bytes: UnsafeRawBufferPointer) {
    guard let tls else { return inbox.append(bytes) }
    do throws(TLSError) {
      tls.receive(bytes)
      try tls.advance()
      while tls.isEstablished {
        let count = try inbox.append(upTo: 16 << 10) { (room) throws(TLSError) in
          try tls.read(into: room)
        }
        if count == 0 { break }
      }
      hasEnded = hasEnded || tls.isEnded
    } catch {
      // The alert that says why leaves if it can.
      send()
      close()
    }
  }

  // MARK: Requests

  /// One step; false when something must come first.
  private func step() -> Bool {
    switch phase {
    case .head: return readHead()
    case .body: return readBody()
    case .waiting:
      guard let exchange, let ready = exchange.response else { return false }
      exchange.response = nil
      begin(ready, keeps: exchange.head.keepsConnection && !hasEnded)
      return true
    case .answering: return continueAnswer()
    case .lingering, .closed: return false
    }
  }

  private func readHead() -> Bool {
    guard let server, !inbox.isEmpty else { return false }
    do throws(RequestProblem) {
      let found = try inbox.withSpan { (bytes) throws(RequestProblem) in
        try scanner.find(in: bytes)
      }
      guard let found else { return false }
      let head = try inbox.withSpan { (bytes) throws(RequestProblem) in
        try RequestHead(bytes.extracting(found))
      }
      inbox.removeFirst(found.upperBound)
      scanner = HeadScanner()
      if let problem = server.guarding.problem(head) { throw problem }
      began(head, server)
    } catch {
      refuse(error)
    }
    return true
  }

  private func began(_ head: RequestHead, _ server: StreamServer) {
    let exchange = StreamExchange(head, self)
    self.exchange = exchange
    switch head.framing {
    case .length(let count): (left, chunks) = (count, nil)
    case .chunked: (left, chunks) = (0, ChunkedBody())
    }
    let refusal = server.handler?.began(exchange) ?? nil
    if let answer = refusal ?? server.admit(exchange, self) {
      let isWhole = chunks == nil && left == 0
      return begin(answer, keeps: head.keepsConnection && isWhole)
    }
    phase = .body
    deadline = server.now + server.idleMilliseconds
    if head.expectsContinue, inbox.isEmpty, chunks != nil || left > 0 {
      put(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8))
    }
  }

  /// Answers what is no request, and ends the connection behind it.
  private func refuse(_ problem: RequestProblem) {
    guard let server else { return close() }
    server.refusedHeads += 1
    begin(server.refusal(problem), keeps: false)
  }

  private func readBody() -> Bool {
    guard let exchange, !exchange.isPaused else { return false }
    guard chunks != nil else { return readLength(exchange) }
    do throws(RequestProblem) {
      return try readChunks(exchange)
    } catch {
      endExchange()
      refuse(error)
      return true
    }
  }

  private func readLength(_ exchange: StreamExchange) -> Bool {
    guard left > 0 else { return ended(exchange) }
    guard !inbox.isEmpty else { return false }
    left -= hand(min(left, inbox.count), exchange)
    return true
  }

  private func readChunks(_ exchange: StreamExchange) throws(RequestProblem) -> Bool {
    let step = try inbox.withSpan { (bytes) throws(RequestProblem) in try chunks?.next(bytes) }
    switch step ?? .wait {
    case .wait: return false
    case .skip(let count): inbox.removeFirst(count)
    case .data(let count): chunks?.took(hand(count, exchange))
    case .end(let count):
      inbox.removeFirst(count)
      return ended(exchange)
    }
    return true
  }

  /// Hands so many bytes to the handler; returns how many it took.
  private func hand(_ count: Int, _ exchange: StreamExchange) -> Int {
    let bytes = UnsafeRawBufferPointer(rebasing: inbox.bytes[..<count])
    let taken = server?.handler?.received(bytes, exchange) ?? count
    inbox.removeFirst(taken)
    return taken
  }

  private func ended(_ exchange: StreamExchange) -> Bool {
    phase = .waiting
    deadline = nil
    server?.clients.heard(id, at: nil)
    server?.handler?.ended(exchange)
    return true
  }

  // MARK: Answers

  private func begin(_ answer: HTTPResponse, keeps: Bool) {
    guard let server else { return close() }
    let head = exchange?.head
    let source = ResponseSource(
      answer, isHead: head?.method == "HEAD", isVersion11: head?.isVersion11 ?? true,
      keepsConnection: keeps && !server.isStopping, date: server.date)
    response = consume source
    phase = .answering
    noteProgress(server)
    if let first = response?.drainHead() { put(first) }
  }

  /// The client takes its answer.
  private func noteProgress(_ server: StreamServer) {
    deadline = server.now + server.idleMilliseconds
    server.clients.heard(id, at: server.now)
  }

  private func continueAnswer() -> Bool {
    send()
    guard !isClosed else { return false }
    while outgoing < Self.window {
      do throws(SystemError) {
        guard let piece = try response?.next() else { return finishAnswer() }
        put(piece)
      } catch {
        close()
        return false
      }
    }
    send()
    return !isClosed && outgoing < Self.window
  }

  /// The answer is in the buffers, whole.
  private func finishAnswer() -> Bool {
    guard let server, isSent || sendAll() else { return false }
    let keeps = response?.keepsConnection ?? false
    response = nil
    endExchange()
    server.clients.answered(id, now: server.now)
    guard keeps else {
      tls?.end()
      send()
      if !isClosed { socket.finishWriting() }
      if hasEnded { close() }
      guard !isClosed else { return false }
      phase = .lingering
      deadline = server.now + Self.lingerMilliseconds
      lingersUntil = server.now + Self.longestLingerMilliseconds
      inbox = ByteBuffer(capacity: 16)
      return false
    }
    phase = .head
    guard inbox.isEmpty else {
      deadline = server.now + server.idleMilliseconds
      // A request at a time, and then the other clients'.
      isPending = true
      return false
    }
    deadline = server.now + server.keepAliveMilliseconds
    rest(server)
    return false
  }

  /// Keeps no memory of a long request or answer until the next request, which may be long in coming.
  private func rest(_ server: StreamServer) {
    if inbox.reservedBytes > Self.restingBytes { inbox.release() }
    if outbox.reservedBytes > Self.restingBytes { outbox.release() }
    tls?.giveBack(&server.spare)
  }

  private func sendAll() -> Bool {
    send()
    return isSent && !isClosed
  }

  private var outgoing: Int { tls?.ciphertext.pointee.count ?? outbox.count }

  private func put(_ bytes: [UInt8]) {
    guard let tls else { return outbox.append(bytes) }
    do throws(TLSError) {
      try bytes.span.withUnsafeBytes { (buffer) throws(TLSError) in try tls.write(buffer) }
    } catch {
      close()
    }
  }

  /// Writes what the socket takes.
  private func send() {
    guard let server else { return }
    while !isClosed {
      let bytes = tls?.ciphertext.pointee.bytes ?? outbox.bytes
      guard !bytes.isEmpty else { return }
      switch socket.write(bytes) {
      case .moved(let count):
        if let tls { tls.ciphertext.pointee.removeFirst(count) } else { outbox.removeFirst(count) }
        if case .answering = phase { noteProgress(server) }
      case .wouldBlock: return
      case .end, .failed: return close()
      }
    }
  }

  private func updateInterest() {
    guard !isClosed else { return }
    var wanted: Interest = []
    switch phase {
    case .head: if inbox.count < HeadScanner.longest + Self.window, !hasEnded { wanted = .readable }
    case .body:
      let isPaused = exchange?.isPaused ?? false
      if !isPaused, inbox.count < Self.window { wanted = .readable }
      server?.clients.heard(id, at: isPaused ? nil : server?.now)
      deadline = isPaused ? nil : deadline ?? (server?.now ?? 0) + (server?.idleMilliseconds ?? 0)
    case .lingering: wanted = .readable
    // There is more, though the socket may have taken everything by now: no other event would make it go on.
    case .answering: wanted = .writable
    case .waiting, .closed: break
    }
    if !isSent { wanted.insert(.writable) }
    guard wanted != interest else { return }
    interest = wanted
    server?.watch(self)
  }
}
