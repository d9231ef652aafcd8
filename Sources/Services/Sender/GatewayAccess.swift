// SPDX-License-Identifier: Apache-2.0
public import Settings
import TLS

/// What a connection to a gateway needs beside an address: whom to trust, and which client certificate to
/// show. Read at start, and again as a whole on SIGHUP.
struct GatewayAccess: Sendable {
  /// For connections that authenticate with provider tokens.
  let tls: TLSContext
  let certificates: [ClientCertificate]
  /// By certificate: connections that show it.
  let certificateTLS: [TLSContext]

  init(roots: String?, certificates: [ClientCertificate]) throws(TLSError) {
    let trust = roots.map { TrustRoots.file($0) } ?? .system
    tls = try TLSContext.client(roots: trust)
    self.certificates = certificates
    var contexts: [TLSContext] = []
    for certificate in certificates {
      contexts.append(try TLSContext.client(roots: trust, identity: certificate.identity))
    }
    certificateTLS = contexts
  }
}

/// The HTTP proxy between the sender and the gateways.
public struct SenderProxy: Sendable {
  public let endpoint: Endpoint
  /// `user:password`, a secret; nil without one.
  public let credentials: String?
}
