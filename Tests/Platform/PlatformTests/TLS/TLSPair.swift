// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop

/// Certificates that the tests share: making them takes longer than the tests.
struct Certificates {
  let authority: CertificateAuthority
  let localhost: TLSIdentity
  let expired: TLSIdentity

  static let shared: Result<Certificates, SigningError> = make()

  private static func make() -> Result<Certificates, SigningError> {
    do throws(SigningError) {
      let authority = try CertificateAuthority()
      return .success(
        Certificates(
          authority: authority, localhost: TLSIdentity(try authority.issueServer()),
          expired: TLSIdentity(try authority.issueServer(validity: .expired))))
    } catch {
      return .failure(error)
    }
  }
}

extension TLSIdentity {
  init(_ issued: IssuedCertificate) {
    self.init(certificates: issued.certificatePEM, key: issued.keyPEM)
  }
}

/// A client and a server back to back in memory.
struct TLSPair {
  let client: TLSConnection
  let server: TLSConnection

  init(_ client: TLSContext, _ server: TLSContext, name: String = "localhost") throws {
    self.client = try TLSConnection(client: client, serverName: name)
    self.server = try TLSConnection(server: server)
  }

  /// Carries bytes until both are established. Throws what the client, or else the server, finds.
  func handshake() throws {
    var serverError: TLSError?
    for _ in 0..<10 {
      try client.advance()
      carry(from: client, to: server)
      do { try server.advance() } catch { serverError = serverError ?? error }
      carry(from: server, to: client)
    }
    if let serverError, !client.isEstablished || !server.isEstablished { throw serverError }
  }

  func carry(from: TLSConnection, to: TLSConnection) {
    guard !from.ciphertext.pointee.isEmpty else { return }
    to.receive(from.ciphertext.pointee.bytes)
    from.ciphertext.pointee.removeAll()
  }
}
