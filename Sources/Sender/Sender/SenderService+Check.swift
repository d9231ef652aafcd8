// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto
import EventLoop
import SenderDecisions
public import ServiceKit

/// `martlet-sender --check`.
extension SenderService {
  public static func check(
    _ settings: SenderSettings, _ context: ServiceContext
  ) -> [Finding] {
    let names = settings.names
    let kafka = KafkaSurvey.run(settings.kafka, .sender, names)
    let clock = ClockFindings.local(isSynchronized: WallClock.isSynchronized)
    return kafka.findings + coverage(settings, names, kafka.facts) + certificates(settings)
      + [clock] + gateways(settings)
  }

  /// Partitions for every loop, of this sender and the others that run.
  private static func coverage(
    _ settings: SenderSettings, _ names: TopicNames, _ facts: KafkaFacts
  ) -> [Finding] {
    guard facts.failure == nil else { return [] }
    let senders = KafkaSurvey.members(settings.kafka, .sender, names)
    let coverage = LoopCoverage(loops: settings.loops, senders: senders ?? 1)
    return names.notifications.compactMap { topic in
      facts.topics[topic]?.state.map {
        coverage.finding(topic: topic, partitions: $0.partitions)
      }
    }
  }

  private static func certificates(_ settings: SenderSettings) -> [Finding] {
    settings.certificates.flatMap {
      CertificateFindings.all($0.diagnosis, now: WallClock.seconds())
    }
  }

  // MARK: Gateways

  private static func gateways(_ settings: SenderSettings) -> [Finding] {
    // As the sender connects, and with a small ClientHello.
    let (access, small): (GatewayAccess, GatewayAccess)
    do throws(TLSError) {
      access = try Self.access(settings, groups: settings.tlsGroups)
      small = try Self.access(settings, groups: GatewayAccess.smallGroups)
    } catch {
      return [
        .error(
          .root, settings.gatewayRoots ?? "the system's store", "\(error)",
          remedy: "correct gateway-roots or tls-groups, or install ca-certificates")
      ]
    }
    var findings = roots(settings, access.tls)
    // Two measurements of one clock may differ by a second.
    var clocks: Set<String> = []
    for kind in GatewayKind.allCases where isOwn(kind, settings) {
      let probe = GatewayProbe.run(settings, kind, (access.tls, small.tls))
      findings += GatewayFindings.all(probe.facts)
      if clocks.insert(probe.facts.address).inserted {
        findings += ClockFindings.compared(
          to: probe.facts.address, secondsAhead: probe.secondsAhead)
      }
      for (index, certificate) in access.certificates.enumerated()
      where certificate.scope.covers(kind.environment) {
        let probe = GatewayProbe.run(
          settings, kind, (access.certificateTLS[index], small.certificateTLS[index]),
          certificate: certificate.path)
        findings += GatewayFindings.all(probe.facts)
      }
    }
    return findings
  }

  private static func access(
    _ settings: SenderSettings, groups: String?
  ) throws(TLSError) -> GatewayAccess {
    try GatewayAccess(
      roots: settings.gatewayRoots, certificates: settings.certificates, groups: groups)
  }

  /// Whether a gateway has an address of its own.
  private static func isOwn(_ kind: GatewayKind, _ settings: SenderSettings) -> Bool {
    switch kind {
    case .production, .sandbox: true
    case .productionBroadcasts: settings.broadcastGateway != nil
    case .sandboxBroadcasts: settings.sandboxBroadcastGateway != nil
    }
  }

  /// Apple's roots, if a gateway is Apple's.
  private static func roots(_ settings: SenderSettings, _ tls: TLSContext) -> [Finding] {
    guard reachesApple(settings) else { return [] }
    return [
      RootFindings.all(
        store: settings.gatewayRoots ?? "the system's store", hasCurrent: tls.trusts(.userTrustRSA),
        hasFormer: tls.trusts(.aaaCertificateServices))
    ]
  }
}

extension ClientCertificate {
  /// What the rules look at.
  var diagnosis: CertificateFacts {
    CertificateFacts(
      path: path, bundleID: certificate.bundleID, topics: certificate.topics, apps: apps,
      hasSandboxMark: certificate.hasSandboxMark, hasProductionMark: certificate.hasProductionMark,
      expiresAt: certificate.expiresAt)
  }
}
