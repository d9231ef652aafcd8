// SPDX-License-Identifier: Apache-2.0
import Bytes
import HTTPServer
import ServiceKit
import TLS

/// The certificate and the key of HTTPS, read again when a file changes and on SIGHUP. A pair that does not fit (one of
/// the two files is replaced first) leaves the one before until it does.
struct IdentityWatch {
  private let certificate: String
  private let key: String
  private var versions: [File.Version?]

  /// nil without HTTPS.
  init?(_ settings: APISettings) {
    guard let certificate = settings.certificate, let key = settings.certificateKey else {
      return nil
    }
    self.certificate = certificate
    self.key = key
    versions = [File.version(certificate), File.version(key)]
  }

  func read() throws(TLSError) -> StreamServer.Identity {
    let identity = try TLSIdentity.load(certificate: certificate, key: key)
    return StreamServer.Identity(certificate: identity.certificates, key: identity.key)
  }

  /// - Parameter isAsked: also without a change.
  mutating func look(isAsked: Bool, _ server: StreamServer, _ log: Logger) {
    let current = [File.version(certificate), File.version(key)]
    guard isAsked || current != versions else { return }
    versions = current
    do {
      try server.show(try read())
      log.info("HTTPS certificate reloaded", ["certificate": certificate])
    } catch {
      log.error(
        "invalid HTTPS certificate or key; keeping the previous one",
        ["certificate": certificate, "key": key, "error": "\(error)"])
    }
  }
}
