// SPDX-License-Identifier: Apache-2.0
public import Crypto
public import EventLoop
import Glibc

/// Buffers that all connections of one loop share; what is in them never outlives a call.
public final class ConnectionScratch {
  public let ciphertext: UnsafeMutableRawBufferPointer
  public let plaintext: UnsafeMutableRawBufferPointer
  public var outgoing: ByteBuffer
  /// The memory in which the bytes between TLS and the socket lie while a connection is at work (`SecureChannel.begin`).
  /// Each turn of a connection lends it twice, so it goes without run-time checks of overlapping access.
  @exclusivity(unchecked) var ciphertexts = TLSBuffers()

  public init() {
    ciphertext = .allocate(byteCount: 128 * 1_024, alignment: 16)
    plaintext = .allocate(byteCount: 16 * 1_024, alignment: 16)
    outgoing = ByteBuffer(capacity: 32 * 1_024)
  }

  deinit {
    ciphertext.deallocate()
    plaintext.deallocate()
  }
}

/// A socket with TLS on it and the bytes that wait to be written. Both sides of a connection use it.
public final class SecureChannel {
  /// The most bytes that one TLS record holds.
  static let largestRecord = 16 * 1_024
  /// Plaintext is encrypted in pieces of about this size: one TLS record each if the frame that crosses the mark is
  /// small, or two.
  public static let recordSize = largestRecord - 1_024
  /// No more is encrypted while so many bytes wait for the socket.
  public static let waitingLimit = 256 * 1_024

  let poller: Poller
  let token: UInt64
  let tls: TLSConnection
  /// The bytes that wait for the socket.
  private let waiting: UnsafeMutablePointer<ByteBuffer>
  private var socket: Socket?
  private var interest: Interest = []
  private var isConnecting: Bool
  /// The poller is not asked for what the peer sends.
  public private(set) var isReadingPaused = false
  /// The conversation with a proxy, until it has let us through.
  private var tunnel: ProxyTunnel?

  /// Takes over a socket and watches it. A connecting one becomes writable when it is connected.
  public init(
    poller: Poller, token: UInt64, tls: TLSConnection, socket: consuming Socket, isConnecting: Bool,
    proxy: ProxyRequest? = nil
  ) throws(SystemError) {
    tunnel = proxy.map { ProxyTunnel($0) }
    self.poller = poller
    self.token = token
    self.tls = tls
    waiting = tls.ciphertext
    self.isConnecting = isConnecting
    interest = isConnecting ? .writable : .readable
    let fd = socket.fd
    self.socket = consume socket
    try poller.add(fd, token: token, interest)
  }

  public var isOpen: Bool { socket != nil }
  /// A proxy has yet to let us through.
  var hasTunnel: Bool { tunnel != nil }
  public var bytesWaiting: Int { waiting.pointee.count }
  /// Bytes that the socket has taken so far, without those for a proxy.
  private(set) var sentCount: UInt64 = 0
  /// The same, with those that wait for it.
  var encryptedCount: UInt64 { sentCount + UInt64(waiting.pointee.count) }
  public var peer: SocketAddress? { socket?.peerAddress }

  /// Looks whether connecting has succeeded; called when the socket became writable or failed.
  public func finishConnecting() throws(ConnectionFailure) -> Bool {
    guard isConnecting else { return true }
    if let error = socket?.failure() { throw .connect(error) }
    guard socket?.peerAddress != nil else { return false }
    isConnecting = false
    watch(.readable)
    return true
  }

  /// Goes on with a proxy; true when there is none, or none any more.
  public func openTunnel(_ scratch: ConnectionScratch, readable: Bool) throws(ConnectionFailure)
    -> Bool
  {
    guard var tunnel else { return true }
    if !tunnel.isAsked {
      tunnel.isAsked = true
      self.tunnel = tunnel
      waiting.pointee.append(tunnel.request.bytes)
    }
    try write()
    guard readable, let transfer = socket?.read(into: scratch.ciphertext) else { return false }
    switch transfer {
    case .moved(let count):
      let bytes = UnsafeRawBufferPointer(rebasing: scratch.ciphertext[..<count])
      guard let rest = try tunnel.receive(bytes) else {
        self.tunnel = tunnel
        return false
      }
      self.tunnel = nil
      sentCount = 0
      rest.withUnsafeBytes { if !$0.isEmpty { tls.receive($0) } }
      return true
    case .wouldBlock: return false
    // A proxy that closes with bytes of ours unread resets the connection.
    case .end, .failed(ECONNRESET): throw tunnel.closed
    case .failed(let code):
      throw .socket(SystemError(code: code, attempt: "cannot read from the proxy"))
    }
  }

  public enum Arrival { case bytes, nothing, end }

  /// Reads the socket once and feeds TLS.
  public func receive(_ scratch: ConnectionScratch) throws(ConnectionFailure) -> Arrival {
    guard let transfer = socket?.read(into: scratch.ciphertext) else { return .end }
    switch transfer {
    case .moved(let count):
      tls.receive(UnsafeRawBufferPointer(rebasing: scratch.ciphertext[..<count]))
      return .bytes
    case .wouldBlock: return .nothing
    case .end: return .end
    case .failed(let code):
      throw .socket(SystemError(code: code, attempt: "cannot read from the peer"))
    }
  }

  /// The next piece of plaintext, in the scratch buffer; empty when there is no more now.
  public func plaintext(
    _ scratch: ConnectionScratch
  ) throws(ConnectionFailure) -> UnsafeRawBufferPointer {
    do {
      let count = try tls.read(into: scratch.plaintext)
      return UnsafeRawBufferPointer(rebasing: scratch.plaintext[..<count])
    } catch {
      throw .tls(error)
    }
  }

  /// Continues the handshake; true once it is complete. Sends what it has to say either way.
  public func handshake() throws(ConnectionFailure) -> Bool {
    var failure: TLSError?
    do { try tls.advance() } catch { failure = error }
    // Also when it failed: the peer wants to know why (an alert).
    try write()
    if let failure { throw .tls(failure) }
    return tls.isEstablished
  }

  /// Encrypts bytes, which then wait for `write`.
  public func encrypt(_ plaintext: UnsafeRawBufferPointer) throws(ConnectionFailure) {
    do { try tls.write(plaintext) } catch { throw .tls(error) }
  }

  /// Writes all that waits with one system call; the rest waits for the socket. With `hasMore` the
  /// poller also reports when the socket can take what has not been encrypted yet.
  public func write(hasMore: Bool = false) throws(ConnectionFailure) {
    guard !isConnecting else { return }
    guard !waiting.pointee.isEmpty else { return watch(.readable) }
    guard let transfer = socket?.write(waiting.pointee.bytes) else { return }
    switch transfer {
    case .moved(let count):
      waiting.pointee.removeFirst(count)
      sentCount += UInt64(count)
    case .wouldBlock, .end: break
    case .failed(let code):
      throw .socket(SystemError(code: code, attempt: "cannot write to the peer"))
    }
    watch(waiting.pointee.isEmpty && !hasMore ? .readable : [.readable, .writable])
  }

  /// Works in the memory that the connections of a loop share, until `end`: of thousands, each would have buffers of its
  /// own, which have left the cache by its next turn.
  public func begin(_ scratch: ConnectionScratch) { tls.borrow(&scratch.ciphertexts) }

  /// Gives back that memory, except where bytes wait in it.
  public func end(_ scratch: ConnectionScratch) { tls.giveBack(&scratch.ciphertexts) }

  /// Says goodbye if the socket takes it, and closes it.
  ///
  /// - Parameter dropsWaiting: What waits for the socket is not to leave, so no goodbye behind it, either.
  public func close(dropsWaiting: Bool = false) { _ = release(dropsWaiting: dropsWaiting) }

  /// Says goodbye if the socket takes it, and gives the socket to the caller; nil if it is closed already.
  public func release(dropsWaiting: Bool = false) -> Socket? {
    guard let open = socket.take() else { return nil }
    let mayWrite = !isConnecting && (waiting.pointee.isEmpty || !dropsWaiting)
    tls.end()
    if mayWrite, !waiting.pointee.isEmpty,
      case .moved(let count) = open.write(waiting.pointee.bytes)
    {
      sentCount += UInt64(count)
    }
    poller.remove(open.fd)
    waiting.pointee.removeAll()
    return open
  }

  /// Closes with a reset, as a crashed peer would.
  public func abort() {
    guard let open = socket.take() else { return }
    poller.remove(open.fd)
    waiting.pointee.removeAll()
    open.abort()
  }

  /// Stops reading, or goes on with it.
  public func pauseReading(_ isPaused: Bool) {
    isReadingPaused = isPaused
    watch(interest.union(.readable))
  }

  private func watch(_ asked: Interest) {
    let wanted = isReadingPaused ? asked.subtracting(.readable) : asked
    guard wanted != interest, let fd = socket?.fd else { return }
    // Fails only for descriptors that are not watched, which this one is.
    try? poller.modify(fd, token: token, wanted)
    interest = wanted
  }
}
