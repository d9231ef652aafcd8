// SPDX-License-Identifier: Apache-2.0
public import Crypto
public import EventLoop
public import HTTP2

/// An accepted connection: socket, TLS and session on the owner's `Poller`.
///
/// Complete requests appear in the pool that all connections of the loop share. After its turn the owner calls
/// `flush()` for each connection that it used.
public final class HTTP2ServerConnection {
  /// The token that events and requests of this connection carry.
  public let token: UInt64
  private let tls: TLSConnection
  private let scratch: ConnectionScratch
  private let pool: ServerRequestPool
  private let closing: ClosingSockets?
  let session: any ServerSession
  /// The session if it supports deliberate faults; nil in the fast profile.
  public let faulty: HTTP2ServerSession?
  private var channel: SecureChannel
  public private(set) var isConnected = false
  public private(set) var isClosed = false
  /// For the owner's use: set while the connection is on its list of connections to flush.
  public var isTouched = false
  /// For the owner's use: what the connection has been granted so far.
  public var stage: UInt8 = 0
  /// Whether the socket stays open after HTTP/2 is done.
  public var staysOpen = false
  /// Whether the connection ends as soon as no stream is open.
  public var endsWhenIdle = false
  /// Whether reading from the socket is paused, including the handshake.
  public var isReadingPaused: Bool {
    get { channel.isReadingPaused }
    set { channel.pauseReading(newValue) }
  }

  /// Returns the first SETTINGS once TLS is established and before any client data is read, if `init` got none.
  public var chooseSettings: ((HTTP2ServerConnection) -> SessionSettings)?

  /// Takes over an accepted socket and watches it. SETTINGS are sent with the first `flush()` after the handshake; nil
  /// leaves them to `chooseSettings`. With `closing` a client can read the last frames whatever it sends meanwhile.
  public init(
    accepted socket: consuming Socket, poller: Poller, token: UInt64, tls: TLSContext,
    settings: SessionSettings?, pool: ServerRequestPool, scratch: ConnectionScratch,
    closing: ClosingSockets? = nil
  ) throws(ConnectionFailure) {
    self.token = token
    self.scratch = scratch
    self.pool = pool
    self.closing = closing
    do { self.tls = try TLSConnection(server: tls) } catch { throw .tls(error) }
    faulty =
      pool.keepsContent ? HTTP2ServerSession(settings: settings, pool: pool, token: token) : nil
    session = faulty ?? FastServerSession(settings: settings, pool: pool, token: token)
    do {
      channel = try SecureChannel(
        poller: poller, token: token, tls: self.tls, socket: socket, isConnecting: false)
    } catch {
      throw .socket(error)
    }
    session.attach(self)
  }

  deinit { end(nil) }

  public var openStreams: Int { session.openStreams }
  public var isGoingAway: Bool { session.isGoingAway }
  public var lastStreamID: Int32 { session.lastStreamID }
  public var bytesWaiting: Int { channel.bytesWaiting }
  public var peer: SocketAddress? { channel.peer }
  /// The client's certificate; nil if there is none.
  public var clientCertificate: PushCertificate? { tls.peerCertificate }
  /// The reason why the client's certificate failed verification, if it was accepted all the same.
  public var clientCertificateProblem: String? { tls.peerProblem }
  /// The host name that the client requested in the TLS handshake (SNI).
  public var requestedName: String? { tls.requestedName }

  /// Handles a poller event. `flush()` must follow in the same turn.
  public func socketReady(readable: Bool, writable: Bool, hangup: Bool) {
    guard !isClosed else { return }
    channel.begin(scratch)
    defer { channel.end(scratch) }
    do {
      guard readable || hangup else { return }
      if channel.isReadingPaused {
        // While reading is paused, the poller only reports connections that are gone.
        if hangup { end(.peerClosed) }
        return
      }
      let arrival = try channel.receive(scratch)
      if !isConnected {
        if try channel.handshake() {
          isConnected = true
          if let chooseSettings { session.start(chooseSettings(self)) }
          chooseSettings = nil
          session.post(.connected(resumed: tls.isResumed))
        }
      }
      if isConnected { try decrypt() }
      if arrival == .end || tls.isEnded {
        end(session.openStreams == 0 && isConnected ? nil : .peerClosed)
      }
    } catch {
      sendFarewell()
      end(error)
    }
  }

  /// Sends the last frame to a rejected client, if the socket accepts it.
  private func sendFarewell() {
    guard isConnected, let farewell = session.farewell else { return }
    scratch.outgoing.removeAll()
    farewell.withUnsafeBytes { scratch.outgoing.append($0) }
    do throws(ConnectionFailure) {
      try channel.encrypt(scratch.outgoing.bytes)
      try channel.write()
    } catch {
      // The connection ends either way.
    }
  }

  /// Answers a request (of any connection) and returns it to its pool; a request whose stream is gone is only returned.
  /// Header values and `body` must stay valid until the stream closes: constants, or memory of the request itself. The
  /// caller must flush the connection afterwards.
  public static func respond(
    _ request: UnsafeMutablePointer<ServerRequest>, _ headers: borrowing HeaderList,
    body: UnsafeRawBufferPointer, pool: ServerRequestPool
  ) {
    guard let connection = request.pointee.connection else { return pool.recycle(request) }
    connection._withUnsafeGuaranteedRef { $0.session.respond(request, headers, body: body) }
  }

  /// Returns a request without a response; its stream is reset with `code` if it is still open.
  public static func drop(
    _ request: UnsafeMutablePointer<ServerRequest>, code: UInt32, pool: ServerRequestPool
  ) {
    guard let connection = request.pointee.connection else { return pool.recycle(request) }
    request.pointee.isHeld = false
    connection._withUnsafeGuaranteedRef { $0.session.reset(request.pointee.streamID, code: code) }
  }

  /// Never responds to a request: its memory is released when its stream is gone.
  public static func leaveUnanswered(
    _ request: UnsafeMutablePointer<ServerRequest>, pool: ServerRequestPool
  ) {
    guard request.pointee.isAlive else { return pool.recycle(request) }
    request.pointee.isHeld = false
  }

  /// Sends GOAWAY with this debug data; the connection ends once its streams are done. Streams above `lastStreamID` (by
  /// default the newest one seen) are not processed.
  public func sendGoAway(lastStreamID: Int32? = nil, code: UInt32 = 0, debug: [UInt8] = []) {
    session.sendGoAway(lastStreamID: lastStreamID, code: code, debug: debug)
  }

  /// Ends one stream.
  public func reset(_ streamID: Int32, code: UInt32) { session.reset(streamID, code: code) }

  /// Encodes, encrypts and writes what is queued, with one system call.
  public func flush() {
    guard isConnected, !isClosed else { return }
    channel.begin(scratch)
    defer { channel.end(scratch) }
    do {
      // Also when nothing is encrypted because so much waits: the socket may take all of that at once.
      var hasMore = true
      var encrypted = channel.bytesWaiting
      while hasMore, encrypted < SecureChannel.waitingLimit {
        scratch.outgoing.removeAll()
        hasMore = try session.produceOutput(into: &scratch.outgoing, upTo: SecureChannel.recordSize)
        try channel.encrypt(scratch.outgoing.bytes)
        encrypted += scratch.outgoing.count
      }
      try channel.write(hasMore: hasMore)
    } catch {
      end(error)
      return
    }
    guard channel.bytesWaiting == 0 else { return }
    guard !staysOpen else { return }
    if endsWhenIdle, session.openStreams == 0 {
      end(nil)
    } else if session.isFinished {
      end(session.isGoingAway ? nil : .http2(session.complaint ?? "the client broke the protocol"))
    }
  }

  public func drainNotices() -> [ConnectionNotice] { session.drainNotices() }

  /// Closes the connection now; open requests get no response.
  public func close() { end(nil) }

  /// Ends the connection with a TCP reset, as a crash would.
  public func abort() {
    channel.abort()
    end(nil)
  }

  private func decrypt() throws(ConnectionFailure) {
    while true {
      let plaintext = try channel.plaintext(scratch)
      guard plaintext.count > 0 else { return }
      try session.receive(plaintext)
    }
  }

  private func end(_ failure: ConnectionFailure?) {
    guard !isClosed else { return }
    isClosed = true
    isConnected = false
    if let closing, let socket = channel.release() {
      closing.add(socket)
    } else {
      channel.close()
    }
    session.abandon()
    session.post(.closed(failure))
  }
}
