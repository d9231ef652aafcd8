// SPDX-License-Identifier: Apache-2.0
public import Crypto
public import EventLoop
import HTTP

/// One HTTP/2 connection to a server: socket, TLS and session on the owner's `Poller`.
///
/// Each turn of its loop the owner calls `socketReady` for the connection's events, submits what it
/// likes, calls `flush()` once, and takes notices and completed exchanges. Nothing here blocks, and
/// nothing calls back.
public final class HTTP2ClientConnection {
  private let poller: Poller
  private let token: UInt64
  private let tls: TLSConnection
  private let scratch: ConnectionScratch
  private let session: HTTP2ClientSession
  private var channel: SecureChannel?
  private var unsent = UnsentStreams()
  /// The stage that it has to pass before it is ready.
  private var stage = ConnectionStage.tcp
  /// TLS is up and the connection has not ended.
  public private(set) var isConnected = false
  /// The connection has ended; `.closed` is among the notices.
  public private(set) var isClosed = false
  /// It ended after TLS was up, with no request open.
  public private(set) var endedIdle = false
  /// `host:port` that a proxy was asked for; nil without a proxy.
  private var tunnelTarget: String?

  /// A connection that is not yet connecting, spoken by `implementation`. Its events carry `token`. The server's certificate
  /// must be valid for `serverName`. Connections of one loop should share `scratch`.
  public init(
    poller: Poller, token: UInt64, tls: TLSContext, serverName: String,
    implementation: HTTP2Implementation = .engine,
    settings: SessionSettings = SessionSettings(), scratch: ConnectionScratch = ConnectionScratch()
  ) throws(TLSError) {
    self.poller = poller
    self.token = token
    self.tls = try TLSConnection(client: tls, serverName: serverName)
    self.scratch = scratch
    session = HTTP2ClientSession(implementation, settings: settings)
  }

  deinit { channel?.close(dropsWaiting: true) }

  /// Requests submitted and not completed.
  public var openStreams: Int { session.openStreams }
  /// The number of streams that the server allows at once; 1 until it has said.
  public var remoteMaxConcurrentStreams: UInt32 { session.remoteMaxConcurrentStreams }
  /// The number of requests that can be submitted now.
  public var credit: Int {
    guard isConnected, !session.isGoingAway else { return 0 }
    return max(0, Int(session.remoteMaxConcurrentStreams) - session.openStreams)
  }
  /// The id of the next request's stream; above 2³¹−1 there are no more.
  public var nextStreamID: UInt32 { session.nextStreamID }
  /// GOAWAY was received or sent.
  public var isGoingAway: Bool { session.isGoingAway }
  /// Encrypted bytes that the socket has not taken yet.
  public var bytesWaiting: Int { channel?.bytesWaiting ?? 0 }
  /// The credit that flow control leaves us on the whole connection; 0 or less: blocked by the window.
  public var connectionWindow: Int32 { session.connectionWindow }
  /// The common name of the root that vouches for the server's certificate; nil before that is verified, and on a
  /// connection that takes up a session.
  public var trustedRoot: String? { tls.trustedRoot }
  /// The server's address while connected.
  public var peer: SocketAddress? { channel?.peer }

  /// Starts connecting. What becomes of it arrives as a notice; call once.
  ///
  /// - Parameters:
  ///   - address: the server's, or with `proxy` the proxy's.
  ///   - proxy: what to ask an HTTP proxy for before TLS begins.
  public func connect(to address: SocketAddress, through proxy: ProxyRequest? = nil) {
    precondition(channel == nil && !isClosed, "a connection connects once")
    tunnelTarget = proxy?.target
    do {
      let socket = try Socket.connecting(to: address)
      channel = try SecureChannel(
        poller: poller, token: token, tls: tls, socket: socket, isConnecting: true,
        proxy: proxy)
    } catch {
      end(.connect(error))
    }
  }

  /// Handles an event of the poller. `flush()` must follow in the same turn.
  public func socketReady(readable: Bool, writable: Bool, hangup: Bool) {
    guard let channel else { return }
    channel.begin(scratch)
    defer { channel.end(scratch) }
    do {
      if !isConnected, try !establish(channel, readable: readable || hangup) { return }
      if readable || hangup { try read(channel) }
    } catch {
      end(endOfTunnel(error) ?? error)
    }
  }

  /// What an end means behind a proxy that has let us through and not passed on a byte of the gateway's.
  private func endOfTunnel(_ error: ConnectionFailure) -> ConnectionFailure? {
    guard stage == .serverHello, let tunnelTarget else { return nil }
    switch error {
    case .peerClosed, .socket: return .proxy(.closedTunnel(to: tunnelTarget))
    default: return nil
    }
  }

  /// Queues a request for the next `flush()`. False when no stream can be opened now: not connected,
  /// the server's limit is reached, it is going away, or the stream ids are used up.
  public func submit(
    _ headers: borrowing HeaderList, _ exchange: UnsafeMutablePointer<Exchange>
  ) -> Bool {
    isConnected && session.submit(headers, exchange)
  }

  /// Gives a request up; it completes at the next `flush()`.
  public func reset(_ exchange: UnsafeMutablePointer<Exchange>, code: UInt32) {
    session.reset(exchange, code: code)
  }

  /// Encodes and encrypts what is queued and writes it with one system call. What the socket does
  /// not take waits, and the poller reports when it may go on.
  public func flush() {
    guard isConnected, let channel else { return }
    channel.begin(scratch)
    defer { channel.end(scratch) }
    do {
      // Also when nothing is encrypted because so much waits: the socket may take all of that at once.
      var hasMore = true
      var encrypted = channel.bytesWaiting
      while hasMore, encrypted < SecureChannel.waitingLimit {
        scratch.outgoing.removeAll()
        hasMore = try session.produceOutput(
          into: &scratch.outgoing, upTo: SecureChannel.recordSize)
        guard !scratch.outgoing.isEmpty else { break }
        try encrypt(scratch.outgoing.bytes, channel)
        encrypted += scratch.outgoing.count
      }
      try channel.write(hasMore: hasMore)
      unsent.sent(channel.sentCount)
    } catch {
      // The server may have said why (GOAWAY) before it closed.
      drainInput(channel)
      end(error)
      return
    }
    finishIfDone()
  }

  /// Encrypts one record at a time. Every request begins in the first one: the session begins none behind
  /// `recordSize`. So when that record has left the peer may have read of each.
  private func encrypt(
    _ bytes: UnsafeRawBufferPointer, _ channel: SecureChannel
  ) throws(ConnectionFailure) {
    var rest = bytes
    while !rest.isEmpty {
      let record = UnsafeRawBufferPointer(rebasing: rest.prefix(SecureChannel.largestRecord))
      try channel.encrypt(record)
      unsent.encrypted(upTo: channel.encryptedCount, next: session.unwrittenFrom)
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(record.count))
    }
  }

  /// Asks for a sign of life; the answer is a `.pong` notice. Goes out with the next `flush()`.
  public func ping() { session.ping() }

  /// No more requests: tells the server, gives back what was not written, lets the others finish, then closes.
  public func goAway() { session.goAway() }

  /// Ends the connection now. Exchanges whose answers have arrived complete with them, those that the server cannot
  /// have read as unprocessed, the other open ones as ambiguous. Nothing more of any request leaves: nobody would read
  /// the answer.
  public func close() {
    guard !isClosed else { return }
    if isConnected, let channel {
      drainInput(channel)
      session.leave()
      // GOAWAY would stand behind the requests that wait for the socket.
      if channel.bytesWaiting == 0 { flush() } else { channel.close(dropsWaiting: true) }
    }
    end(nil)
  }

  /// Gives up on a connection that is not ready in time; `.closed(.timedOut)` follows.
  public func giveUp() { end(.timedOut(stage, sent: Int(channel?.encryptedCount ?? 0))) }

  /// Replaces `list` by the exchanges completed since the last call: each submitted exchange appears
  /// exactly once, also when the connection dies.
  public func drainCompleted(into list: inout [UnsafeMutablePointer<Exchange>]) {
    session.drainCompleted(into: &list)
  }

  /// The notices of the connection since the last call.
  public func drainNotices() -> [ConnectionNotice] { session.drainNotices() }

  /// Comes nearer to TLS as far as that is possible now. True when it is up.
  private func establish(
    _ channel: SecureChannel, readable: Bool
  ) throws(ConnectionFailure) -> Bool {
    guard try channel.finishConnecting() else { return false }
    advance(to: channel.hasTunnel ? .tunnel : .serverHello)
    guard try channel.openTunnel(scratch, readable: readable) else { return false }
    advance(to: .serverHello)
    if readable {
      switch try channel.receive(scratch) {
      case .bytes: advance(to: .handshake)
      case .nothing: break
      case .end: throw .peerClosed
      }
    }
    guard try channel.handshake() else { return false }
    stage = .settings
    isConnected = true
    session.post(.connected(resumed: tls.isResumed))
    try decrypt(channel)
    return true
  }

  private func advance(to stage: ConnectionStage) {
    guard stage > self.stage else { return }
    self.stage = stage
    session.post(.advanced(stage))
  }

  private func read(_ channel: SecureChannel) throws(ConnectionFailure) {
    let arrival = try channel.receive(scratch)
    try decrypt(channel)
    if arrival == .end || tls.isEnded {
      guard !session.isGoingAway || session.openStreams > 0 else { return end(nil) }
      throw session.hasFailed ? brokenProtocol : .peerClosed
    }
  }

  private func decrypt(_ channel: SecureChannel) throws(ConnectionFailure) {
    repeat {
      let plaintext = try channel.plaintext(scratch)
      guard plaintext.count > 0 else { return }
      try session.receive(plaintext)
    } while tls.mayHaveMore
  }

  private func drainInput(_ channel: SecureChannel) {
    do {
      while try channel.receive(scratch) == .bytes { try decrypt(channel) }
    } catch {
      // The first failure is the one to report.
    }
  }

  private func finishIfDone() {
    // A session ends by itself when the peer breaks the protocol, also if there is no room for its GOAWAY.
    guard session.isFinished || session.hasFailed else { return }
    let isInOrder = session.isGoingAway && session.openStreams == 0
    end(isInOrder ? nil : brokenProtocol)
  }

  private var brokenProtocol: ConnectionFailure {
    .http2(session.complaint ?? "the peer broke the protocol")
  }

  private func end(_ failure: ConnectionFailure?) {
    guard !isClosed else { return }
    isClosed = true
    endedIdle = isConnected && session.openStreams == 0
    isConnected = false
    // After a failure nobody reads the answers to requests that wait for the socket.
    channel?.close(dropsWaiting: failure != nil)
    if let channel { unsent.sent(channel.sentCount) }
    session.abandon(unsentFrom: unsent.first)
    session.post(.closed(failure))
  }
}
