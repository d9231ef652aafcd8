// SPDX-License-Identifier: Apache-2.0

/// A client certificate as the sender lists it.
public struct CertificateFacts: Sendable, Equatable {
  public var path: String
  /// The subject's UID; nil without one.
  public var bundleID: String?
  public var topics: [String]
  /// Bundle ids that its list lets it serve.
  public var apps: [String]
  /// True if it has the mark of the sandbox (…6.3.1), of production (…6.3.2).
  public var hasSandboxMark: Bool
  public var hasProductionMark: Bool
  /// Seconds since the epoch.
  public var expiresAt: Int64

  public init(
    path: String, bundleID: String?, topics: [String], apps: [String], hasSandboxMark: Bool,
    hasProductionMark: Bool, expiresAt: Int64
  ) {
    self.path = path
    self.bundleID = bundleID
    self.topics = topics
    self.apps = apps
    self.hasSandboxMark = hasSandboxMark
    self.hasProductionMark = hasProductionMark
    self.expiresAt = expiresAt
  }
}

/// Findings about client certificates that can be read and belong to their keys.
public enum CertificateFindings {
  /// Days before its end from which on a certificate is worth a warning.
  public static let warningDays: Int64 = 30

  /// - Parameter now: seconds since the epoch.
  public static func all(_ certificate: CertificateFacts, now: Int64) -> [Finding] {
    let findings = [expiry(certificate, now), marks(certificate), topics(certificate)]
    let wrong = findings.compactMap(\.self)
    guard wrong.isEmpty else { return wrong }
    let days = (certificate.expiresAt - now) / 86_400
    let environments =
      certificate.hasSandboxMark && certificate.hasProductionMark
      ? "sandbox and production" : certificate.hasSandboxMark ? "sandbox" : "production"
    return [
      .ok(
        .certificate, certificate.path,
        "for \(certificate.apps.joined(separator: ", ")) in \(environments), expires in \(days) days"
      )
    ]
  }

  private static func expiry(_ certificate: CertificateFacts, _ now: Int64) -> Finding? {
    expiry(
      of: certificate.path, at: certificate.expiresAt, now: now,
      remedy:
        "renew it at Apple and put the new one in its place, or beside it in the certificates file; senders read changed files by themselves"
    )
  }

  /// The finding about a certificate that has expired, or will soon; nil for any other. Times are seconds since the
  /// epoch.
  public static func expiry(
    of path: String, at end: Int64, now: Int64, remedy: String
  ) -> Finding? {
    guard end > now else { return .error(.certificate, path, "has expired", remedy: remedy) }
    let days = (end - now) / 86_400
    guard days < warningDays else { return nil }
    return .warning(
      .certificate, path, "expires in \(days) day\(days == 1 ? "" : "s")", remedy: remedy)
  }

  private static func marks(_ certificate: CertificateFacts) -> Finding? {
    guard !certificate.hasSandboxMark, !certificate.hasProductionMark else { return nil }
    return .warning(
      .certificate, certificate.path,
      "names no environment (extensions 1.2.840.113635.100.6.3.1 and .2): it may be no push certificate",
      remedy: "use a certificate of the type Apple Push Services")
  }

  private static func topics(_ certificate: CertificateFacts) -> Finding? {
    let strangers = certificate.apps.filter { app in
      !certificate.topics.contains { $0 == app || $0.hasPrefix(app + ".") }
    }
    guard !strangers.isEmpty else { return nil }
    let named = certificate.topics.isEmpty ? "no topic" : certificate.topics.joined(separator: ", ")
    return .error(
      .certificate, certificate.path,
      "serves \(strangers.joined(separator: ", ")) by its list, but names \(named)",
      remedy: "remove these apps from the certificates file, or use their own certificate")
  }
}
