// SPDX-License-Identifier: Apache-2.0
public import APNS

/// What became of one request to a gateway that carries neither a provider token nor a payload.
public struct GatewayFacts: Sendable, Equatable {
  public enum Outcome: Sendable, Equatable {
    /// The host's name has no address.
    case unresolved(String)
    /// No TCP connection.
    case noConnection(String)
    /// The proxy does not answer or does not open a tunnel.
    case proxy(String)
    /// The gateway's certificate is not accepted.
    case untrusted(String)
    /// TLS or HTTP/2 failed, also because the gateway did not accept our certificate.
    case broken(String)
    /// Nothing came in time.
    case silent
    /// An answer: status and reason as sent.
    case answered(status: Int, reason: String)
  }

  public var environment: Environment
  /// `host:port`.
  public var address: String
  public var host: String
  /// The proxy's address without credentials; nil without one.
  public var proxy: String?
  /// The file of the client certificate that was shown; nil without one.
  public var certificate: String?
  public var outcome: Outcome

  public init(
    environment: Environment, address: String, host: String, proxy: String? = nil,
    certificate: String? = nil, outcome: Outcome
  ) {
    self.environment = environment
    self.address = address
    self.host = host
    self.proxy = proxy
    self.certificate = certificate
    self.outcome = outcome
  }
}

/// The rules: whether a gateway can be reached, and whether it is APNs of the right environment.
public enum GatewayFindings {
  public static func all(_ facts: GatewayFacts) -> [Finding] {
    environment(facts) + [outcome(facts)]
  }

  /// Apple's hosts, and which environment they serve.
  private static func environment(_ facts: GatewayFacts) -> [Finding] {
    let host = facts.host.lowercased()
    let served: Environment
    switch host {
    case "api.push.apple.com", "api-broadcast.push.apple.com": served = .production
    case "api.sandbox.push.apple.com", "api.development.push.apple.com",
      "api-broadcast.sandbox.push.apple.com":
      served = .sandbox
    default: return []
    }
    guard served != facts.environment else { return [] }
    return [
      .error(
        .gateway, facts.address,
        "serves \(served), but is set for \(facts.environment): APNs would answer BadDeviceToken for every token",
        remedy: "exchange gateway and sandbox-gateway")
    ]
  }

  private static func outcome(_ facts: GatewayFacts) -> Finding {
    let place = place(facts)
    let route = facts.proxy.map { " through the proxy \($0)" } ?? ""
    switch facts.outcome {
    case .unresolved(let words):
      return .error(
        .gateway, place, words,
        remedy: "correct the host's name, DNS (/etc/resolv.conf) or gateway-hosts")
    case .noConnection(let words):
      guard let proxy = facts.proxy else {
        return .error(
          .gateway, place, words,
          remedy: "open the firewall for TCP to \(facts.address), or set proxy")
      }
      return .error(
        .proxy, proxy, words, remedy: "check that the proxy runs and that its address is right")
    case .proxy(let words):
      return .error(
        .proxy, facts.proxy ?? "", words,
        remedy: "let the proxy open tunnels (CONNECT) to \(facts.address); user and password are in"
          + " proxy-credentials")
    case .untrusted(let words):
      return .error(
        .gateway, place, words,
        remedy:
          "something between may break TLS open (a proxy with its own authority); else update ca-certificates,"
          + " or correct gateway-roots and gateway-name")
    case .broken(let words): return broken(facts, place, words)
    case .silent:
      return .error(
        .gateway, place, "no answer in time\(route)",
        remedy: "open the firewall for TCP to \(facts.address) in both directions")
    case .answered(let status, let reason): return answered(facts, place, status, reason, route)
    }
  }

  private static func place(_ facts: GatewayFacts) -> String {
    facts.certificate.map { "\(facts.address) with \($0)" } ?? facts.address
  }

  private static func broken(
    _ facts: GatewayFacts, _ place: String, _ words: String
  ) -> Finding {
    .error(
      .gateway, place, words,
      remedy: facts.certificate == nil
        ? "check that the address is APNs and that nothing between changes TLS (ALPN h2)"
        : "the gateway may have refused the certificate: is it revoked, expired, or of another environment?"
    )
  }

  private static func answered(
    _ facts: GatewayFacts, _ place: String, _ status: Int, _ reason: String, _ route: String
  ) -> Finding {
    guard let known = Reason(reason) else {
      return .error(
        .gateway, place,
        "answers \(status)\(reason.isEmpty ? "" : " \(reason)"), which APNs does not",
        remedy: "correct the address: something else than APNs listens there")
    }
    switch known {
    case .badCertificate, .badCertificateEnvironment, .forbidden:
      return .error(
        .gateway, place, "refuses the certificate: \(status) \(reason)",
        remedy: "use a certificate of this environment that is neither revoked nor expired")
    case .internalServerError, .serviceUnavailable, .serviceUnavailableSpaced, .shutdown:
      return .warning(
        .gateway, place, "is APNs, and has trouble: \(status) \(reason)",
        remedy: "see https://developer.apple.com/system-status/")
    default:
      return .ok(.gateway, place, "is APNs (TLS, HTTP/2)\(route): \(status) \(reason)")
    }
  }
}
