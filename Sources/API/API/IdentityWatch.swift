// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTPServer
import ServiceKit
import Telemetry

/// The certificate and the key of HTTPS, reloaded when a file changes and on SIGHUP. While they do not match (one of
/// the files is replaced first), the previous pair stays in use.
struct IdentityWatch {
  /// The interval of checks of the certificate's expiry, in milliseconds.
  private static let interval: UInt64 = 60_000

  private let certificate: String
  private let key: String
  private var files: FileWatch
  private var expiresAt: Int64 = 0
  private var reminder = ExpiryReminder()
  private var lookAt: UInt64 = 0
  let figures = LatestSamples()

  /// nil without HTTPS.
  init?(_ settings: APISettings) {
    guard let certificate = settings.certificate, let key = settings.certificateKey else {
      return nil
    }
    self.certificate = certificate
    self.key = key
    files = FileWatch([certificate, key])
  }

  mutating func read() throws(TLSError) -> StreamServer.Identity {
    let identity = try TLSIdentity.load(certificate: certificate, key: key)
    let end = try identity.certificate().expiresAt
    if end != expiresAt { (expiresAt, lookAt) = (end, 0) }
    figures.publish([MetricSample(APIMetrics.certificateEnd, Int(end))])
    return StreamServer.Identity(certificate: identity.certificates, key: identity.key)
  }

  /// - Parameter isAsked: whether to reload without a change.
  mutating func look(
    isAsked: Bool, now: UInt64, _ server: StreamServer, _ reloads: ReloadStatus, _ log: Logger
  ) {
    defer { remind(now, log) }
    guard isAsked || files.haveChanged(now: now) else { return }
    files.begin()
    do {
      try server.show(try read())
      reloads.accepted(APIMetrics.certificateFile)
      log(APILog.certificateReloaded, ["certificate": certificate])
    } catch {
      // Rights that are corrected, as the error asks for, leave the files as they were.
      files.retry(now: now)
      guard reloads.refused(APIMetrics.certificateFile, "\(error)", now: now, isAsked: isAsked)
      else { return }
      log(APILog.certificateInvalid, ["certificate": certificate, "key": key, "error": "\(error)"])
    }
  }

  private mutating func remind(_ now: UInt64, _ log: Logger) {
    guard now >= lookAt else { return }
    lookAt = now + Self.interval
    let wall = WallClock.seconds()
    switch reminder.step(expiresAt: expiresAt, wall: wall, now: now) {
    case nil: return
    case .expired?:
      log(
        APILog.certificateExpired,
        [
          "certificate": certificate,
          "expired": "\(ExpiryReminder.age(from: expiresAt, to: wall)) ago",
        ])
    case .expiresSoon(let days)?:
      log(APILog.certificateExpires, ["certificate": certificate, "days_left": "\(days)"])
    }
  }
}
