// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import SenderDecisions
import ServiceKit
import Telemetry

/// What is counted of the client certificates.
enum CertificateCounter: Int, MetricTable {
  /// Whole days until the first of them expires; 0 without any.
  case certificateDaysLeft

  /// As a timestamp in `SenderMetrics.certificateEnd`.
  var row: MetricRow { .line(.gauge) }
}

/// Looks at the client certificates now and then, says ahead when one is about to expire, and reads them again when
/// their files change or somebody asks. Owned by the control thread.
final class CertificateWatch {
  /// The files by their names in `SenderMetrics.reloadRefused`.
  static let certificatesFile = "certificates"
  static let tokenKeyFile = "token-key"
  private static let interval: UInt64 = 60_000

  private let settings: SenderSettings
  private let context: ServiceContext
  private let counters = Counters<CertificateCounter>()
  private var certificates: [ClientCertificate]
  private let status = LatestSamples()
  let reloads = ReloadStatus(SenderMetrics.reloadRefused, [certificatesFile, tokenKeyFile])
  private var files: FileWatch
  private var nextLook: UInt64 = 0
  /// By fingerprint.
  private var reminders: [String: ExpiryReminder] = [:]

  init(_ settings: SenderSettings, _ context: ServiceContext) {
    self.settings = settings
    self.context = context
    certificates = settings.certificates
    files = settings.files
    files.follow(Self.paths(settings, settings.certificates))
    if !certificates.isEmpty { context.counters.add(counters) }
    context.counters.add(metrics: status)
    context.counters.add(metrics: reloads)
  }

  /// The files whose change is noticed without a signal.
  static func paths(
    _ settings: SenderSettings, _ certificates: [ClientCertificate]
  ) -> [String] {
    [settings.certificatesPath, settings.gatewayRoots, settings.seal.path].compactMap(\.self)
      + certificates.flatMap { [$0.path, $0.keyPath] }
  }

  /// To be called every turn.
  ///
  /// - Returns: whether files have changed, and `reload` is to be called.
  func turn() -> Bool {
    let now = MonotonicClock.milliseconds()
    if now >= nextLook { look(now, WallClock.seconds()) }
    return files.haveChanged(now: now)
  }

  private func look(_ now: UInt64, _ wall: Int64) {
    nextLook = now + Self.interval
    let book = CertificateBook(certificates.map(\.entry), now: wall)
    // A certificate that was replaced ends in silence.
    let current = certificates.indices.filter { !book.isReplaced($0) }.map { certificates[$0] }
    status.publish(current)
    guard !current.isEmpty else { return }
    counters.set(.certificateDaysLeft, book.daysLeft(now: wall) ?? 0)
    for certificate in current {
      remind(certificate, now, wall)
      let left = certificate.certificate.expiresAt - wall
      // The end is said when it comes.
      if left > 0, left < Int64(Self.interval / 1_000) {
        nextLook = min(nextLook, now + UInt64(left) * 1_000)
      }
    }
  }

  private func remind(_ entry: ClientCertificate, _ now: UInt64, _ wall: Int64) {
    let (name, end) = (entry.certificate.fingerprint, entry.certificate.expiresAt)
    let apps = entry.apps.joined(separator: ",")
    switch reminders[name, default: ExpiryReminder()].step(expiresAt: end, wall: wall, now: now) {
    case nil: return
    case .expired?:
      context.log(
        SenderLog.certificateExpired,
        [
          "certificate": entry.path, "apps": apps,
          "expired": "\(ExpiryReminder.age(from: end, to: wall)) ago",
        ])
    case .expiresSoon(let days)?:
      context.log(
        SenderLog.certificateExpires,
        ["certificate": entry.path, "apps": apps, "days_left": "\(days)"])
    }
  }

  /// Reads certificates and roots again. What cannot be used, or would take an app away, leaves everything as it was.
  ///
  /// - Parameter isAsked: an operator's signal.
  /// - Returns: what connections are made with from now on; nil after a failure, and if nothing is to be read.
  func reload(isAsked: Bool) -> GatewayAccess? {
    let now = MonotonicClock.milliseconds()
    files.begin()
    guard reloads.isDue(Self.certificatesFile, files, isAsked: isAsked) else { return nil }
    do {
      let inUse = Set(certificates.map(\.certificate.fingerprint))
      let read =
        try settings.certificatesPath.map { try CertificatesFile.load($0, inUse: inUse) } ?? []
      files.follow(Self.paths(settings, read))
      let access = try GatewayAccess(
        roots: settings.gatewayRoots, certificates: read, groups: settings.tlsGroups)
      guard keepsApps(read, now, isAsked) else { return nil }
      certificates = read
      nextLook = 0
      context.log(SenderLog.certificatesReloaded, ["certificates": "\(read.count)"])
      return access
    } catch {
      files.retry(now: now)
      if reloads.refused(Self.certificatesFile, "\(error)", now: now, isAsked: isAsked) {
        context.log(SenderLog.certificatesInvalid, ["error": "\(error)"])
      }
      return nil
    }
  }

  /// Whether the token key is to be read again, after `reload`.
  func isTokenKeyDue(isAsked: Bool) -> Bool {
    reloads.isDue(Self.tokenKeyFile, files, isAsked: isAsked)
  }

  /// The token key was read again, or not, for this reason.
  func noteTokenKey(_ problem: TokenSealProblem?, isAsked: Bool) {
    guard let problem else { return reloads.accepted(Self.tokenKeyFile) }
    let now = MonotonicClock.milliseconds()
    files.retry(now: now)
    guard reloads.refused(Self.tokenKeyFile, "\(problem)", now: now, isAsked: isAsked) else {
      return
    }
    context.log(SenderLog.tokenKeyInvalid, ["error": "\(problem)"])
  }

  /// Whether every app that is served now stays so: another app's certificate at the same path would stop this one, and
  /// nothing but its waiting notifications would say so.
  private func keepsApps(_ read: [ClientCertificate], _ now: UInt64, _ isAsked: Bool) -> Bool {
    let (before, after) = (
      ClientCertificate.coverage(certificates), ClientCertificate.coverage(read)
    )
    let lost = before.lost(in: after)
    guard lost.isEmpty else {
      let names = lost.joined(separator: ", ")
      if reloads.refused(Self.certificatesFile, names, taking: lost, now: now, isAsked: isAsked) {
        context.log(
          SenderLog.certificatesRefused,
          [
            "apps": names, "file": settings.certificatesPath ?? "",
            "found": read.map { $0.certificate.bundleID ?? $0.path }.joined(separator: ", "),
            "remedy": "put the app's own certificate in place, or restart the senders to let it go",
          ])
      }
      return false
    }
    reloads.accepted(Self.certificatesFile)
    let moved = before.moved(in: after)
    if !moved.isEmpty {
      context.log(SenderLog.teamChanged, ["apps": moved.joined(separator: ", ")])
    }
    return true
  }
}
