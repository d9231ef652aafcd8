// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import EventLoop
import Settings
import Synchronization

public enum TrustRoots: Sendable {
  /// The authorities that the system trusts.
  case system
  /// Only the authorities in this PEM file.
  case file(String)
  /// Only the authorities in this PEM text.
  case pem([UInt8])
  /// Those of another context, in the same memory: a system's take 0.8 MB, and a thirtieth of a second to read.
  case shared(TLSContext)
}

/// The settings that many connections share. Safe to use from several threads.
///
/// A client always verifies the chain and the host name: there is no switch. Both sides speak
/// TLS 1.2 or later and HTTP/2 (ALPN `h2`); a peer that names no protocol is accepted, one that
/// chooses another, or offers others only, is refused when the handshake is complete.
public final class TLSContext: Sendable {
  nonisolated(unsafe) let raw: OpaquePointer
  /// The newest session of each server name, for resumption.
  let sessions = Mutex<[String: SessionHandle]>([:])
  /// Kept for OpenSSL, which holds a plain pointer.
  private let clientTrust: ClientTrust?

  private init(owning raw: OpaquePointer, clientTrust: ClientTrust? = nil) {
    self.raw = raw
    self.clientTrust = clientTrust
  }

  deinit {
    for (_, session) in sessions.withLock({ $0 }) { SSL_SESSION_free(session.raw) }
    SSL_CTX_free(raw)
  }

  /// A client that trusts `roots` and shows `identity` to servers that ask for a certificate.
  ///
  /// - Parameter groups: key exchanges to offer, as OpenSSL lists them (`X25519:P-256`); nil for OpenSSL's own choice,
  ///   whose key shares may not fit one packet (since 3.5 one of them is post-quantum, 1.2 KB).
  public static func client(
    roots: TrustRoots = .system, identity: TLSIdentity? = nil, groups: String? = nil
  ) throws(TLSError) -> TLSContext {
    let context = try create(TLS_client_method())
    if let groups, martlet_ssl_ctx_set_groups(context.raw, groups) != 1 {
      throw TLSError.last(.configuration, "cannot offer the TLS groups \(groups)")
    }
    SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER, nil)
    try context.trust(roots)
    if let identity { try context.use(identity) }
    let offered: [UInt8] = [2, UInt8(ascii: "h"), UInt8(ascii: "2")]
    // Unlike its siblings this function returns 0 for success.
    guard SSL_CTX_set_alpn_protos(context.raw, offered, UInt32(offered.count)) == 0 else {
      throw TLSError.last(.configuration, "cannot offer h2")
    }
    martlet_ssl_ctx_cache_client_sessions(context.raw)
    SSL_CTX_sess_set_new_cb(context.raw) { ssl, session in keep(session, of: ssl) }
    return context
  }

  /// A server that shows `identity`. With `clientRoots` (PEM) or `clientTrust` it asks for a client
  /// certificate and verifies one that is given; a client without one is still accepted, as APNs does.
  public static func server(
    identity: TLSIdentity, clientRoots: [UInt8]? = nil, clientTrust: ClientTrust? = nil,
    fault: ServerFault? = nil
  ) throws(TLSError) -> TLSContext {
    let context = try create(TLS_server_method(), clientTrust)
    try context.use(identity)
    let name: [UInt8] = Array("martlet".utf8)
    SSL_CTX_set_session_id_context(context.raw, name, UInt32(name.count))
    if let clientRoots {
      try context.trust(.pem(clientRoots))
      SSL_CTX_set_verify(context.raw, SSL_VERIFY_PEER, nil)
    }
    if let clientTrust {
      try context.trust(.pem(clientTrust.roots))
      clientTrust.install(in: context.raw)
    }
    var forced: UnsafeMutableRawPointer?
    switch fault {
    case .selectsHTTP1: forced = UnsafeMutableRawPointer(mutating: http1.utf8Start)
    case .speaksOnlyTLS11: _ = martlet_ssl_ctx_limit_to_tls11(context.raw)
    // Without the callback the server ignores what the client offers.
    case .namesNoProtocol: return context
    case nil: break
    }
    SSL_CTX_set_alpn_select_cb(context.raw, martlet_ssl_select_protocol, forced)
    return context
  }

  /// A server of HTTP/1.1 that shows `identity`: TLS 1.2 or later, and no ALPN, without which HTTP/1.1 is meant.
  public static func webServer(identity: TLSIdentity) throws(TLSError) -> TLSContext {
    try server(identity: identity, fault: .namesNoProtocol)
  }

  /// A server that does something unusual on purpose, to see what clients make of it.
  public enum ServerFault: Sendable {
    case namesNoProtocol
    case selectsHTTP1
    case speaksOnlyTLS11
  }

  private static let http1: StaticString = "\u{8}http/1.1"

  /// Offers a session no more; a newer one stays.
  func forget(_ session: SessionHandle, of serverName: String) {
    let forgotten = sessions.withLock { sessions -> SessionHandle? in
      guard sessions[serverName]?.raw == session.raw else { return nil }
      return sessions.removeValue(forKey: serverName)
    }
    if let forgotten { SSL_SESSION_free(forgotten.raw) }
  }

  private static func create(
    _ method: OpaquePointer?, _ clientTrust: ClientTrust? = nil
  ) throws(TLSError) -> TLSContext {
    ERR_clear_error()
    guard let raw = SSL_CTX_new(method) else {
      throw TLSError.last(.configuration, "cannot set up TLS")
    }
    guard martlet_ssl_ctx_require_tls12(raw) == 1 else {
      SSL_CTX_free(raw)
      throw TLSError.last(.configuration, "cannot require TLS 1.2")
    }
    martlet_ssl_ctx_set_modes(raw)
    return TLSContext(owning: raw, clientTrust: clientTrust)
  }

  private func trust(_ roots: TrustRoots) throws(TLSError) {
    switch roots {
    case .system:
      guard SSL_CTX_set_default_verify_paths(raw) == 1 else {
        throw TLSError.last(.configuration, "cannot load the system's trusted authorities")
      }
    case .file(let path):
      let text: [UInt8]
      do throws(SystemError) { text = try File.read(path) } catch {
        throw TLSError(kind: .configuration, message: "trusted authorities: \(error)")
      }
      try trust(only: text, path)
    case .pem(let text): try trust(only: text, "FILE")
    case .shared(let other): SSL_CTX_set1_cert_store(raw, SSL_CTX_get_cert_store(other.raw))
    }
  }

  /// Throws for a file of authorities that cannot be used, also by libraries that read PEM only.
  public static func checkPEMRoots(_ path: String) throws(TLSError) {
    _ = try client(roots: .file(path))
    guard let text = try? File.read(path), !PEMFile.isDER(text) else {
      throw TLSError(
        kind: .configuration,
        message: "\(path) is DER; convert it: openssl x509 -inform DER -in \(path) -out roots.pem")
    }
  }

  /// Trusts these authorities, and no other.
  private func trust(only text: [UInt8], _ path: String) throws(TLSError) {
    let found: Certificates
    do throws(TLSError) { found = try Certificates(text, path: path) } catch {
      throw TLSError(kind: .configuration, message: "trusted authorities: \(path) \(error)")
    }
    let store = SSL_CTX_get_cert_store(raw)
    // Also one that another has signed, as libcurl does with the same file.
    X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
    withExtendedLifetime(found) {
      for certificate in found.list { X509_STORE_add_cert(store, certificate) }
    }
  }

  private func use(_ identity: TLSIdentity) throws(TLSError) {
    let parts = try IdentityParts(identity)
    try withExtendedLifetime(parts) { () throws(TLSError) in try use(parts) }
  }

  private func use(_ parts: IdentityParts) throws(TLSError) {
    guard SSL_CTX_use_certificate(raw, parts.chain[0]) == 1 else {
      throw TLSError.last(.configuration, "cannot use the certificate")
    }
    for certificate in parts.chain.dropFirst() {
      guard martlet_ssl_ctx_add_chain_certificate(raw, certificate) == 1 else {
        throw TLSError.last(.configuration, "cannot use the certificate's chain")
      }
    }
    guard SSL_CTX_use_PrivateKey(raw, parts.key) == 1 else {
      throw TLSError.last(.configuration, "cannot use the private key")
    }
  }
}

/// A session that OpenSSL counts references of; used under the lock of `TLSContext.sessions`.
struct SessionHandle: @unchecked Sendable {
  let raw: OpaquePointer
}

/// OpenSSL's new-session callback: keeps the session for the next connection to that server.
/// Returning 1 means that the reference was taken over.
private func keep(_ session: OpaquePointer?, of ssl: OpaquePointer?) -> Int32 {
  guard let session, let owner = SSL_get_ex_data(ssl, 0) else { return 0 }
  let connection = Unmanaged<TLSConnection>.fromOpaque(owner).takeUnretainedValue()
  guard let name = connection.serverName else { return 0 }
  let replaced = connection.context.sessions.withLock {
    $0.updateValue(SessionHandle(raw: session), forKey: name)
  }
  if let replaced { SSL_SESSION_free(replaced.raw) }
  return 1
}
