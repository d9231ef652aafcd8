// SPDX-License-Identifier: Apache-2.0
import Crypto

/// What a connection to a gateway needs beside an address: whom to trust, and which client certificate to
/// show. Read at start, and again as a whole on SIGHUP.
struct GatewayAccess: Sendable {
  /// For connections that authenticate with provider tokens.
  let tls: TLSContext
  let certificates: [ClientCertificate]
  /// By certificate: connections that show it.
  let certificateTLS: [TLSContext]

  /// Groups whose key shares leave a ClientHello small enough for one packet.
  static let smallGroups = "X25519:P-256"

  /// - Parameter groups: TLS groups to offer, as OpenSSL lists them; nil for its own choice.
  init(roots: String?, certificates: [ClientCertificate], groups: String? = nil) throws(TLSError) {
    tls = try TLSContext.client(roots: roots.map { .file($0) } ?? .system, groups: groups)
    self.certificates = certificates
    var contexts: [TLSContext] = []
    for certificate in certificates {
      contexts.append(
        try TLSContext.client(
          roots: .shared(tls), identity: certificate.identity, groups: groups))
    }
    certificateTLS = contexts
  }
}
