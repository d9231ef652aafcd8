// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import GatewaySimulator
import HTTP2
import Signing
import Synchronization
import TLS
import TestSupport

/// A gateway over real TLS and HTTP/2 whose answers a test decides, request by request: for outages and other
/// troubles that begin and end at the test's word. It runs on a thread of its own.
final class AnsweringGateway {
  /// A push as it came in.
  struct Request: Sendable {
    var token: String
    var id: String
    var topic: String
    /// Monotonic milliseconds of its arrival.
    var at: UInt64
    /// When it was answered, and how; 0 while it was not.
    var answeredAt: UInt64 = 0
    var status: UInt16 = 0
  }

  /// What a push is answered, and after how long.
  struct Answer: Sendable {
    var status: UInt16 = 200
    var reason = ""
    var milliseconds: UInt64 = 0
    var retryAfter: UInt32 = 0
    /// Values of `apns-id` and `apns-request-id`.
    var identifier = ""
    var requestIdentifier = ""
    /// It never is.
    var isSilent = false
    /// It is 200 as soon as there is another script: the gateway hung, and has recovered.
    var isWithheld = false

    static let silence = Answer(isSilent: true)
    static let withheld = Answer(isWithheld: true)
    static let unavailable = Answer(status: 503, reason: "ServiceUnavailable", milliseconds: 2)
    static func accepted(after milliseconds: UInt64 = 0) -> Answer {
      Answer(milliseconds: milliseconds)
    }
  }

  typealias Script = @Sendable (Request) -> Answer

  /// What the test and the gateway's thread share.
  final class Shared: Sendable {
    struct State {
      var script: Script
      /// Counts the scripts.
      var edition = 0
      var requests: [Request] = []
      var isListening = true
      var isStopping = false
      var open = 0
      var mostOpen = 0
    }
    let state: Mutex<State>
    init(_ script: @escaping Script) { state = Mutex(State(script: script)) }
  }

  let port: UInt16
  /// The PEM file of its certificate authority.
  let roots: String
  private let shared: Shared
  private let folder = TemporaryFolder()
  private var thread: LoopThread?

  /// - Parameter streams: the limit of each connection.
  init(streams: UInt32 = 1_000, _ script: @escaping Script = { _ in .accepted() }) throws {
    let authority = try CertificateAuthority()
    let issued = try authority.issueServer()
    roots = folder.file("root.pem")
    try File.write(roots, authority.certificatePEM)
    let listener = try Socket.listening(on: .loopback(port: 0))
    let port = listener.localAddress!.port
    self.port = port
    let shared = Shared(script)
    self.shared = shared
    let (certificate, key) = (issued.certificatePEM, issued.keyPEM)
    thread = try LoopThread(name: "gateway") {
      let identity = TLSIdentity(certificates: certificate, key: key)
      let loop = try! AnsweringGatewayLoop(shared, identity, streams: streams, port: port)
      loop.run()
    }
    _ = consume listener
  }

  deinit {
    shared.state.withLock { $0.isStopping = true }
    thread.take()?.join()
  }

  /// Answers by another script from now on, and what was withheld.
  func answer(by script: @escaping Script) {
    shared.state.withLock {
      $0.script = script
      $0.edition += 1
    }
  }

  /// Closes every connection and refuses new ones, or takes them again.
  func listen(_ isListening: Bool) { shared.state.withLock { $0.isListening = isListening } }

  /// Every push so far, in the order of arrival.
  var requests: [Request] { shared.state.withLock { $0.requests } }
  /// How many pushes have come in.
  var count: Int { shared.state.withLock { $0.requests.count } }
  /// The most that were open at once.
  var mostOpen: Int { shared.state.withLock { $0.mostOpen } }
}

/// The gateway's thread.
private final class AnsweringGatewayLoop {
  private let shared: AnsweringGateway.Shared
  private let poller: Poller
  private let tls: TLSContext
  private let streams: UInt32
  private let port: UInt16
  private let pool = ServerRequestPool()
  private let scratch = ConnectionScratch()
  private var listener: Socket?
  private var hasListener = false
  private var connections: [HTTP2ServerConnection?] = []
  private var due: [Pending] = []
  private var edition = 0
  private var ready: [UnsafeMutablePointer<ServerRequest>] = []

  private struct Pending {
    var request: UnsafeMutablePointer<ServerRequest>
    var answer: AnsweringGateway.Answer
    var number: Int
    var at: UInt64
  }

  init(
    _ shared: AnsweringGateway.Shared, _ identity: TLSIdentity, streams: UInt32, port: UInt16
  ) throws {
    self.shared = shared
    self.streams = streams
    self.port = port
    poller = try Poller()
    tls = try .server(identity: identity)
  }

  func run() {
    var events: [ReadyEvent] = []
    while true {
      let (isListening, isStopping) = shared.state.withLock { ($0.isListening, $0.isStopping) }
      if isStopping { break }
      if isListening != hasListener { isListening ? begin() : end() }
      poller.wait(timeoutMilliseconds: due.isEmpty ? 5 : 1, into: &events)
      for event in events { handle(event) }
      release()
      pool.takeReady(into: &ready)
      for request in ready { take(request) }
      ready.removeAll(keepingCapacity: true)
      answerDue()
      for index in connections.indices {
        connections[index]?.flush()
        _ = connections[index]?.takeNotices()
        if connections[index]?.isClosed == true { connections[index] = nil }
      }
    }
    end()
  }

  private func begin() {
    guard let socket = try? Socket.listening(on: .loopback(port: port)),
      (try? poller.add(socket.fd, token: 0, .readable)) != nil
    else { return }
    listener = consume socket
    hasListener = true
  }

  private func end() {
    if let closing = listener.take() { poller.remove(closing.fd) }
    hasListener = false
    for connection in connections { connection?.close() }
    connections = []
  }

  private func handle(_ event: ReadyEvent) {
    guard event.token > 0 else { return accept() }
    guard Int(event.token) <= connections.count else { return }
    connections[Int(event.token) - 1]?.socketReady(
      readable: event.readable, writable: event.writable, hangup: event.hangup)
  }

  private func accept() {
    do {
      while let socket = try listener?.accept() {
        connections.append(
          try HTTP2ServerConnection(
            accepted: socket, poller: poller, token: UInt64(connections.count + 1), tls: tls,
            settings: .gateway(maxConcurrentStreams: streams), pool: pool, scratch: scratch))
      }
    } catch {
      // The client is gone already.
    }
  }

  private func take(_ request: UnsafeMutablePointer<ServerRequest>) {
    let fields = PushFields(request.pointee)
    func text(_ bytes: UnsafeRawBufferPointer?) -> String {
      bytes.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
    let now = MonotonicClock.milliseconds()
    let push = AnsweringGateway.Request(
      token: text(fields.deviceToken), id: text(fields.identifier), topic: text(fields.topic),
      at: now)
    let (script, number) = shared.state.withLock { state in
      state.requests.append(push)
      state.open += 1
      state.mostOpen = max(state.mostOpen, state.open)
      return (state.script, state.requests.count - 1)
    }
    let answer = script(push)
    if answer.isSilent { return }
    let at = answer.isWithheld ? UInt64.max : now + answer.milliseconds
    due.append(Pending(request: request, answer: answer, number: number, at: at))
  }

  /// Lets what was withheld by an earlier script go.
  private func release() {
    let newest = shared.state.withLock { $0.edition }
    guard newest != edition else { return }
    edition = newest
    for index in due.indices where due[index].answer.isWithheld { due[index].at = 0 }
  }

  private func answerDue() {
    let now = MonotonicClock.milliseconds()
    var later: [Pending] = []
    for pending in due {
      if pending.at <= now { answer(pending, now) } else { later.append(pending) }
    }
    due = later
  }

  private func answer(_ pending: Pending, _ now: UInt64) {
    shared.state.withLock { state in
      state.open -= 1
      state.requests[pending.number].answeredAt = now
      state.requests[pending.number].status = pending.answer.status
    }
    // Header values and body stay in the request's own memory until the stream closes.
    let scratch = pending.request.pointee.scratch
    func keep(_ text: String, at offset: Int) -> UnsafeRawBufferPointer {
      for (index, byte) in text.utf8.enumerated() { scratch[offset + index] = byte }
      return UnsafeRawBufferPointer(start: scratch + offset, count: text.utf8.count)
    }
    var headers = HeaderList()
    headers.append(":status", keep("\(pending.answer.status)", at: 0))
    if pending.answer.retryAfter > 0 {
      headers.append("retry-after", keep("\(pending.answer.retryAfter)", at: 8))
    }
    if !pending.answer.identifier.isEmpty {
      headers.append("apns-id", keep(pending.answer.identifier, at: 128))
    }
    if !pending.answer.requestIdentifier.isEmpty {
      headers.append("apns-request-id", keep(pending.answer.requestIdentifier, at: 176))
    }
    let reason = pending.answer.reason
    let body = keep(reason.isEmpty ? "" : #"{"reason":"\#(reason)"}"#, at: 32)
    HTTP2ServerConnection.respond(pending.request, headers, body: body, pool: pool)
  }
}
