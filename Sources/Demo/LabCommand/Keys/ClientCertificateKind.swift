// SPDX-License-Identifier: Apache-2.0
import Crypto

/// The kinds of client certificates needed to test certificate authentication.
enum ClientCertificateKind: String, CaseIterable, Sendable {
  /// The bundle id, `.voip` and `.complication`, in both environments.
  case universal = ""
  /// Only the bundle id, as the subject's UID.
  case single
  case sandbox
  case production
  /// Expired an hour ago.
  case expired
  /// For the old VoIP service.
  case voip

  private func name(of app: String) -> String {
    rawValue.isEmpty ? "client-\(app)" : "client-\(app)-\(rawValue)"
  }

  func certificate(of app: String) -> String { name(of: app) + ".pem" }
  func key(of app: String) -> String { name(of: app) + "-key.pem" }
  /// The file with both certificate and key.
  func archive(of app: String) -> String { name(of: app) + ".p12" }
  /// The passphrase of that file, because some readers reject an empty one.
  static let passPhrase = "martlet"

  func issue(_ authority: CertificateAuthority, _ app: String) throws(SigningError)
    -> IssuedCertificate
  {
    switch self {
    case .universal: try authority.issueClient(bundleID: app)
    case .single: try authority.issueClient(bundleID: app, isUniversal: false)
    case .sandbox: try authority.issueClient(bundleID: app, forProduction: false)
    case .production: try authority.issueClient(bundleID: app, forSandbox: false)
    case .expired: try authority.issueClient(bundleID: app, validity: .expired)
    case .voip: try authority.issueVoIPClient(bundleID: app)
    }
  }
}
