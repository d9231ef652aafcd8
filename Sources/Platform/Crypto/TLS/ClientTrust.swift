// SPDX-License-Identifier: Apache-2.0
import COpenSSL
import Synchronization

/// Judges the certificates that clients show to a server. Safe to use from several threads.
public final class ClientTrust: Sendable {
  /// The authorities (PEM) that may have issued them.
  let roots: [UInt8]
  private let admitsBroken: Atomic<Bool>
  private let revoked = Mutex<Set<String>>([])

  public init(roots: [UInt8], admitsBroken: Bool = false) {
    self.roots = roots
    self.admitsBroken = Atomic(admitsBroken)
  }

  /// Lets clients in whose certificate fails verification, or not: ask `TLSConnection.peerProblem`
  /// afterwards.
  public func admitBroken(_ isAdmitted: Bool) {
    admitsBroken.store(isAdmitted, ordering: .relaxed)
  }

  /// Refuses the certificates with these SHA-256 fingerprints during the handshake, with the alert
  /// that names the cause. Replaces the earlier list.
  public func revoke(_ fingerprints: Set<String>) { revoked.withLock { $0 = fingerprints } }

  fileprivate func judge(_ chain: OpaquePointer?) -> Int32 {
    let isValid = X509_verify_cert(chain) == 1
    let fingerprint = PushCertificate.fingerprint(X509_STORE_CTX_get0_cert(chain))
    if revoked.withLock({ $0.contains(fingerprint) }) {
      X509_STORE_CTX_set_error(chain, X509_V_ERR_CERT_REVOKED)
      return 0
    }
    return isValid || admitsBroken.load(ordering: .relaxed) ? 1 : 0
  }

  /// Makes a server's context ask for certificates and judge them. The context keeps `self`.
  func install(in context: OpaquePointer) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
    SSL_CTX_set_cert_verify_callback(
      context,
      { chain, trust in
        guard let trust else { return 0 }
        return Unmanaged<ClientTrust>.fromOpaque(trust).takeUnretainedValue().judge(chain)
      }, Unmanaged.passUnretained(self).toOpaque())
  }
}
