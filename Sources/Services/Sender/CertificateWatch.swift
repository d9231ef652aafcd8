// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import ServiceKit
import TLS
import Telemetry

/// What is counted of the client certificates.
enum CertificateCounter: Int, CounterKey {
  /// Whole days until the first of them expires; 0 without any.
  case certificateDaysLeft

  var kind: CounterKind { .gauge }
}

/// Looks at the client certificates now and then, says ahead when one is about to expire, and reads them
/// again when asked. Owned by the control thread.
final class CertificateWatch {
  private static let interval: UInt64 = 60_000
  /// Between two warnings about the same certificate.
  private static let repetition: UInt64 = 86_400_000

  private let context: ServiceContext
  private let counters = Counters<CertificateCounter>()
  private var certificates: [ClientCertificate]
  private let status = CredentialStatus()
  private var nextLook: UInt64 = 0
  private var warned: [String: UInt64] = [:]

  init(_ certificates: [ClientCertificate], _ context: ServiceContext) {
    self.certificates = certificates
    self.context = context
    if !certificates.isEmpty { context.counters.add(counters) }
    context.counters.add(metrics: status)
  }

  /// To be called every turn.
  func turn() {
    let now = MonotonicClock.milliseconds()
    guard now >= nextLook else { return }
    nextLook = now + Self.interval
    look(now, WallClock.seconds())
  }

  private func look(_ now: UInt64, _ wall: Int64) {
    status.publish(certificates)
    guard !certificates.isEmpty else { return }
    let book = CertificateBook(certificates.map(\.entry), now: wall)
    counters.set(.certificateDaysLeft, book.daysLeft(now: wall) ?? 0)
    for certificate in certificates {
      let days = CertificateBook.days(from: wall, to: certificate.certificate.expiresAt)
      guard days < CertificateBook.warningDays else { continue }
      let name = certificate.certificate.fingerprint
      if let last = warned[name], now - last < Self.repetition { continue }
      warned[name] = now
      let facts: KeyValuePairs = [
        "certificate": certificate.path, "days_left": "\(days)",
        "apps": certificate.apps.joined(separator: ","),
      ]
      if days < 0 {
        context.log.error("client certificate expired; its notifications wait", facts)
      } else {
        context.log.warning("client certificate expires soon; renew it and send SIGHUP", facts)
      }
    }
  }

  /// Reads certificates and roots again. What cannot be used leaves everything as it was.
  ///
  /// - Returns: what connections are made with from now on; nil after a failure.
  func reload(_ settings: SenderSettings) -> GatewayAccess? {
    do {
      let read = try settings.certificatesPath.map { try CertificatesFile.load($0) } ?? []
      let access = try GatewayAccess(
        roots: settings.gatewayRoots, certificates: read, groups: settings.gatewayGroups)
      certificates = read
      nextLook = 0
      context.log.info(
        "client certificates and roots reloaded", ["certificates": "\(read.count)"])
      return access
    } catch {
      context.log.error(
        "invalid client certificates or roots; keeping the previous ones", ["error": "\(error)"])
      return nil
    }
  }
}
