// SPDX-License-Identifier: Apache-2.0
import COpenSSL
public import EventLoop
import Glibc
import Synchronization

/// One TLS stream without a socket: ciphertext of the peer goes in, ciphertext for the peer waits in
/// `ciphertext`, plaintext likewise goes in and comes out. Owned by one thread.
public final class TLSConnection {
  let context: TLSContext
  /// The name a client expects in the certificate; nil on the server side.
  public let serverName: String?
  private let ssl: OpaquePointer
  /// The ciphertext of the peer that OpenSSL has not read.
  private let received: UnsafeMutablePointer<ByteBuffer>
  /// The ciphertext that waits for the peer: whoever sends it removes it.
  public let ciphertext: UnsafeMutablePointer<ByteBuffer>
  /// The handshake is complete and the peer is who it should be.
  public private(set) var isEstablished = false
  /// The peer has said that it sends nothing more.
  public private(set) var isEnded = false
  /// The session of an earlier connection that the hello offers to take up.
  private var offered: SessionHandle?

  /// The client side; starts the handshake at the next `advance`. The certificate must be valid for
  /// `serverName` (a DNS name, also sent as SNI, or a numeric address).
  public init(client context: TLSContext, serverName: String) throws(TLSError) {
    (ssl, received, ciphertext) = try Self.create(context)
    self.context = context
    self.serverName = serverName
    SSL_set_ex_data(ssl, 0, Unmanaged.passUnretained(self).toOpaque())
    SSL_set_connect_state(ssl)
    if Self.isNumericAddress(serverName) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), serverName)
    } else {
      SSL_set_hostflags(ssl, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
      guard martlet_ssl_set_server_name(ssl, serverName) == 1, SSL_set1_host(ssl, serverName) == 1
      else { throw TLSError.last(.configuration, "\(serverName) cannot be a host name") }
    }
    resume(serverName)
  }

  /// The server side.
  public init(server context: TLSContext) throws(TLSError) {
    (ssl, received, ciphertext) = try Self.create(context)
    self.context = context
    serverName = nil
    SSL_set_accept_state(ssl)
  }

  deinit {
    // Perhaps the offer was why: a peer that trips over the ticket, a path that takes no hello of that size.
    if let offered, let serverName, !isEstablished, SSL_in_before(ssl) == 0 {
      context.forget(offered, of: serverName)
    }
    SSL_free(ssl)
    for buffer in [received, ciphertext] {
      buffer.deinitialize(count: 1)
      buffer.deallocate()
    }
  }

  /// The handshake took up a session of an earlier connection.
  public var isResumed: Bool { SSL_session_reused(ssl) == 1 }

  /// "TLSv1.3", "TLSv1.2".
  public var version: String { String(cString: SSL_get_version(ssl)) }

  public var peerCertificate: PushCertificate? {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { return nil }
    defer { X509_free(certificate) }
    return PushCertificate(certificate)
  }

  /// The common name of the root that vouches for the peer; nil before that is verified, and in a session that was taken
  /// up.
  public var trustedRoot: String? {
    guard let chain = SSL_get0_verified_chain(ssl), OPENSSL_sk_num(chain) > 0,
      let root = OPENSSL_sk_value(chain, OPENSSL_sk_num(chain) - 1)
    else { return nil }
    return PushCertificate(OpaquePointer(root)).commonName
  }

  /// Why the peer's certificate failed verification, for servers that let it in all the same.
  public var peerProblem: String? {
    let result = SSL_get_verify_result(ssl)
    return result == X509_V_OK ? nil : String(cString: X509_verify_cert_error_string(result))
  }

  /// The host name that the client asked for (SNI); nil when it named none.
  public var requestedName: String? {
    SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name).map { String(cString: $0) }
  }

  /// Takes ciphertext from the peer.
  public func receive(_ ciphertext: UnsafeRawBufferPointer) {
    received.pointee.append(ciphertext)
  }

  /// Continues the handshake as far as the bytes allow. Throws when it has failed; the `ciphertext` of
  /// then (an alert) should still be sent.
  public func advance() throws(TLSError) {
    guard !isEstablished else { return }
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      try checkProtocol()
      isEstablished = true
      return
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
    default: throw handshakeError()
    }
  }

  /// False if a read would find nothing, which costs half as much as one that finds something.
  public var mayHaveMore: Bool { SSL_has_pending(ssl) == 1 || !received.pointee.isEmpty }

  /// Decrypts into `buffer`; 0 means nothing (more) now. Throws when the stream is broken.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(TLSError) -> Int {
    // A leftover error of another caller on this thread would be taken for ours.
    if ERR_peek_error() != 0 { ERR_clear_error() }
    let count = SSL_read(ssl, buffer.baseAddress, Int32(buffer.count))
    if count > 0 { return Int(count) }
    switch SSL_get_error(ssl, count) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return 0
    case SSL_ERROR_ZERO_RETURN:
      isEnded = true
      return 0
    default: throw TLSError.last(.stream, "the TLS stream broke")
    }
  }

  /// Encrypts all of `plaintext` and appends it to `ciphertext`. At most 16 KiB go in one record.
  public func write(_ plaintext: UnsafeRawBufferPointer) throws(TLSError) {
    guard plaintext.count > 0 else { return }
    let count = SSL_write(ssl, plaintext.baseAddress, Int32(plaintext.count))
    guard count == plaintext.count else {
      throw TLSError.last(.stream, "cannot encrypt")
    }
  }

  /// Takes the memory of shared buffers for those of its own that have none.
  public func borrow(_ shared: inout TLSBuffers) {
    if received.pointee.reservedBytes == 0 { swap(&received.pointee, &shared.received) }
    if ciphertext.pointee.reservedBytes == 0 { swap(&ciphertext.pointee, &shared.ciphertext) }
  }

  /// Gives back the memory of buffers in which nothing waits.
  public func giveBack(_ shared: inout TLSBuffers) {
    if received.pointee.isEmpty { received.pointee.leave(to: &shared.received) }
    if ciphertext.pointee.isEmpty { ciphertext.pointee.leave(to: &shared.ciphertext) }
  }

  /// Says that nothing more will be written (close_notify).
  public func end() {
    guard isEstablished else { return }
    SSL_shutdown(ssl)
    ERR_clear_error()
  }

  private static func create(_ context: TLSContext) throws(TLSError) -> (
    ssl: OpaquePointer, received: UnsafeMutablePointer<ByteBuffer>,
    ciphertext: UnsafeMutablePointer<ByteBuffer>
  ) {
    ERR_clear_error()
    let received = UnsafeMutablePointer<ByteBuffer>.allocate(capacity: 1)
    let ciphertext = UnsafeMutablePointer<ByteBuffer>.allocate(capacity: 1)
    received.initialize(to: ByteBuffer(capacity: 0))
    ciphertext.initialize(to: ByteBuffer(capacity: 0))
    guard let ssl = SSL_new(context.raw), let incoming = CiphertextPipe.bio(on: received),
      let outgoing = CiphertextPipe.bio(on: ciphertext)
    else { throw TLSError.last(.configuration, "cannot set up a TLS connection") }
    // The connection owns both BIOs from here.
    SSL_set_bio(ssl, incoming, outgoing)
    return (ssl, received, ciphertext)
  }

  private static func isNumericAddress(_ host: String) -> Bool {
    var address = in6_addr()
    return inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1
  }

  private func resume(_ serverName: String) {
    offered = context.sessions.withLock { sessions -> SessionHandle? in
      guard let session = sessions[serverName] else { return nil }
      SSL_set_session(ssl, session.raw)
      return session
    }
  }

  private func checkProtocol() throws(TLSError) {
    // A server has no other data of its own there.
    if serverName == nil, SSL_get_ex_data(ssl, 0) != nil {
      throw TLSError(kind: .handshake, message: "the client does not offer HTTP/2")
    }
    var name: UnsafePointer<UInt8>?
    var count: UInt32 = 0
    SSL_get0_alpn_selected(ssl, &name, &count)
    // No protocol named: the gateway is known to speak HTTP/2 all the same.
    guard let name, count > 0 else { return }
    let chosen = String(
      decoding: UnsafeBufferPointer(start: name, count: Int(count)), as: UTF8.self)
    guard chosen == "h2" else {
      throw TLSError(kind: .handshake, message: "the peer chose \(chosen) instead of HTTP/2")
    }
  }

  private func handshakeError() -> TLSError {
    let result = SSL_get_verify_result(ssl)
    guard result == X509_V_OK else {
      ERR_clear_error()
      let reason = String(cString: X509_verify_cert_error_string(result))
      let whose = serverName.map { "the certificate of \($0)" } ?? "the client's certificate"
      return TLSError(kind: .certificate, message: "\(whose) is refused: \(reason)")
    }
    return TLSError.last(.handshake, "the TLS handshake failed")
  }
}

/// Memory for the bytes between TLS and a socket, for connections that take turns.
public struct TLSBuffers: ~Copyable {
  fileprivate var received = ByteBuffer(capacity: 0)
  fileprivate var ciphertext = ByteBuffer(capacity: 0)

  public init() {}
}
