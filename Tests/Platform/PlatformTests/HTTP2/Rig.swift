// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

/// A listener, a client and the server side of its connection, all turned by hand.
final class Rig {
  private static let certificates = Result { try issue() }

  private static func issue() throws -> (roots: [UInt8], server: TLSIdentity) {
    let authority = try CertificateAuthority()
    let issued = try authority.issueServer()
    return (
      authority.certificatePEM, TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM)
    )
  }

  let poller: Poller
  let address: SocketAddress
  let client: HTTP2ClientConnection
  var server: HTTP2ServerConnection?
  var isServerReading = true
  /// The client handles no events and writes nothing while this is false.
  var isClientTurning = true
  /// The client writes only after events of its own.
  var flushesOnEvents = false
  private var hadEvent = false
  private let http2: HTTP2Implementation
  private let settings: SessionSettings
  private let listener: Socket
  private let clientTLS: TLSContext
  private let serverTLS: TLSContext
  private let pool = ServerRequestPool()
  private let scratch = ConnectionScratch()
  private var requests: [UnsafeMutablePointer<ServerRequest>] = []
  private var exchanges: [UnsafeMutablePointer<Exchange>] = []
  private let body = UnsafeMutablePointer<UInt8>.allocate(capacity: 16_000)

  private static let clientToken: UInt64 = 1
  private static let serverToken: UInt64 = 2
  private static let listenerToken: UInt64 = 3
  private static let otherToken: UInt64 = 4

  /// - Parameters:
  ///   - connectionWindow: the server's; 65,535 unless told.
  ///   - maxConcurrentStreams: what the server allows.
  init(
    _ http2: HTTP2Implementation, connectionWindow: Int32? = nil,
    maxConcurrentStreams: UInt32 = 1_000
  ) throws {
    self.http2 = http2
    var settings = SessionSettings.gateway(maxConcurrentStreams: maxConcurrentStreams)
    settings.connectionWindow = connectionWindow
    self.settings = settings
    let certificates = try Self.certificates.get()
    body.initialize(repeating: UInt8(ascii: "b"), count: 16_000)
    poller = try Poller()
    let socket = try Socket.listening(on: .loopback(port: 0))
    guard let bound = socket.localAddress else { throw ConnectionFailure.peerClosed }
    address = bound
    try poller.add(socket.fd, token: Self.listenerToken, .readable)
    listener = socket
    clientTLS = try .client(roots: .pem(certificates.roots))
    serverTLS = try .server(identity: certificates.server)
    client = try HTTP2ClientConnection(
      poller: poller, token: Self.clientToken, tls: clientTLS, serverName: "localhost",
      implementation: http2)
  }

  deinit {
    for exchange in exchanges { exchange.deallocate() }
    body.deallocate()
  }

  /// Another client, for one that must fail.
  func newClient(name: String = "localhost") throws -> HTTP2ClientConnection {
    try HTTP2ClientConnection(
      poller: poller, token: Self.otherToken, tls: clientTLS, serverName: name,
      implementation: http2)
  }

  /// Connects and waits for the server's SETTINGS.
  func connect() throws {
    client.connect(to: address)
    var notices: [ConnectionNotice] = []
    try turn(until: { notices.count == 4 }, each: { notices += client.drainNotices() })
    let limit = try #require(settings.maxConcurrentStreams)
    #expect(
      notices == [
        .advanced(.serverHello), .advanced(.handshake), .connected(resumed: false),
        .settings(maxConcurrentStreams: limit),
      ])
  }

  /// Turns the loop until `isDone`. A minute without an event is too long, not a minute of work: a busy machine
  /// may take that for megabytes through two TLS ends.
  func turn(
    until isDone: () -> Bool, serving other: HTTP2ClientConnection? = nil, each: () -> Void = {}
  ) throws {
    let start = MonotonicClock.milliseconds()
    var lastEvent = start
    var events: [ReadyEvent] = []
    while !isDone() {
      let now = MonotonicClock.milliseconds()
      try #require(now < lastEvent + 60_000, "nothing happened for a minute")
      try #require(now < start + 300_000, "it does not come to its end")
      poller.wait(timeoutMilliseconds: 10, into: &events)
      if !events.isEmpty { lastEvent = MonotonicClock.milliseconds() }
      hadEvent = events.contains { $0.token == Self.clientToken }
      for event in events { try handle(event, other) }
      pool.drainReady(into: &arrived)
      requests += arrived
      each()
      if isClientTurning, hadEvent || !flushesOnEvents { client.flush() }
      other?.flush()
      if isServerReading { server?.flush() }
    }
  }

  private var arrived: [UnsafeMutablePointer<ServerRequest>] = []

  private func handle(_ event: ReadyEvent, _ other: HTTP2ClientConnection?) throws {
    let (readable, writable, hangup) = (event.readable, event.writable, event.hangup)
    switch event.token {
    case Self.clientToken where isClientTurning:
      client.socketReady(readable: readable, writable: writable, hangup: hangup)
    case Self.otherToken:
      other?.socketReady(readable: readable, writable: writable, hangup: hangup)
    case Self.serverToken where isServerReading:
      server?.socketReady(readable: readable, writable: writable, hangup: hangup)
    case Self.listenerToken:
      guard let socket = try listener.accept() else { return }
      server = try HTTP2ServerConnection(
        accepted: socket, poller: poller, token: Self.serverToken, tls: serverTLS,
        settings: settings, pool: pool, scratch: scratch)
    default: break
    }
  }

  var hasRequests: Bool { !requests.isEmpty }
  /// The streams of whole requests that the server has received and not answered.
  var arrivedStreams: [Int32] { requests.map(\.pointee.streamID) }

  func answerAll() {
    var headers = HeaderList()
    headers.append(":status", "200")
    for request in requests {
      HTTP2ServerConnection.respond(
        request, headers, body: UnsafeRawBufferPointer(start: nil, count: 0), pool: pool)
    }
    requests = []
  }

  func exchange(body count: Int) -> UnsafeMutablePointer<Exchange> {
    let new = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
    new.initialize(to: Exchange())
    new.pointee.body = UnsafePointer(body)
    new.pointee.bodyCount = UInt32(count)
    exchanges.append(new)
    return new
  }

  func submit(_ exchange: UnsafeMutablePointer<Exchange>) -> Bool {
    var headers = HeaderList()
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", "localhost")
    headers.append(":path", "/3/device/00")
    return client.submit(headers, exchange)
  }

  func completed() -> [UnsafeMutablePointer<Exchange>] {
    var list: [UnsafeMutablePointer<Exchange>] = []
    client.drainCompleted(into: &list)
    return list
  }
}
