// SPDX-License-Identifier: Apache-2.0

/// The result of one request to a gateway that carries neither a provider token nor a payload.
public struct GatewayFacts: Sendable, Equatable {
  public enum Outcome: Sendable, Equatable {
    /// The host's name has no address.
    case unresolved(String)
    /// No TCP connection.
    case noConnection(String)
    /// The proxy does not answer or does not open a tunnel, and what helps.
    case proxy(String, remedy: String)
    /// The gateway's certificate is not accepted.
    case untrusted(String)
    /// TLS or HTTP/2 failed, also because the gateway did not accept our certificate.
    case broken(String)
    /// TCP is up, and nothing came back for a ClientHello of this size; `answersSmall`: something does for a smaller one.
    case noServerHello(bytes: Int, answersSmall: Bool)
    /// Nothing came in time.
    case silent
    /// An answer: status, reason as sent, and of what is not of APNs the beginning of its body (printable).
    case answered(status: Int, reason: String, excerpt: String = "")
  }

  public var environment: Environment
  /// `host:port`.
  public var address: String
  public var host: String
  /// The proxy's address without credentials; nil without one.
  public var proxy: String?
  /// The file of the client certificate that was shown; nil without one.
  public var certificate: String?
  /// The common name of the root that vouches for the gateway's certificate; nil if that is not known.
  public var root: String?
  public var outcome: Outcome

  public init(
    environment: Environment, address: String, host: String, proxy: String? = nil,
    certificate: String? = nil, root: String? = nil, outcome: Outcome
  ) {
    self.environment = environment
    self.address = address
    self.host = host
    self.proxy = proxy
    self.certificate = certificate
    self.root = root
    self.outcome = outcome
  }
}

/// The rules: whether a gateway can be reached, and whether it is APNs of the right environment.
public enum GatewayFindings {
  public static func all(_ facts: GatewayFacts) -> [Finding] {
    environment(facts) + root(facts) + [outcome(facts)]
  }

  /// Apple's hosts, and which environment they serve; nil for others.
  private static func environment(ofApple host: String) -> Environment? {
    switch host.lowercased() {
    case "api.push.apple.com", "api-broadcast.push.apple.com": .production
    case "api.sandbox.push.apple.com", "api.development.push.apple.com",
      "api-broadcast.sandbox.push.apple.com":
      .sandbox
    default: nil
    }
  }

  private static func root(_ facts: GatewayFacts) -> [Finding] {
    guard environment(ofApple: facts.host) != nil, let root = facts.root,
      root != RootFindings.current, root != RootFindings.former
    else { return [] }
    return [
      .warning(
        .gateway, place(facts),
        "its certificate leads to the root \"\(root)\", which Apple does not name: something between may break TLS open,"
          + " and then it reads every push and provider token",
        remedy:
          "let TCP to \(facts.address) through without TLS inspection, or set proxy to one that opens tunnels"
      )
    ]
  }

  private static func environment(_ facts: GatewayFacts) -> [Finding] {
    guard let served = environment(ofApple: facts.host), served != facts.environment else {
      return []
    }
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
    case .proxy(let words, let remedy):
      return .error(.proxy, facts.proxy ?? "", words, remedy: remedy)
    case .untrusted(let words):
      return .error(
        .gateway, place, words,
        remedy:
          "something between may break TLS open (a proxy with its own authority); else update ca-certificates,"
          + " or correct gateway-roots and gateway-name")
    case .broken(let words): return broken(facts, place, words)
    case .noServerHello(let bytes, let answersSmall):
      return noServerHello(facts, place, bytes, answersSmall: answersSmall)
    case .silent:
      return .error(
        .gateway, place, "no answer in time\(route)",
        remedy: "open the firewall for TCP to \(facts.address) in both directions")
    case .answered(let status, let reason, let excerpt):
      guard let known = Reason(reason) else {
        return foreign(facts, place, "\(status)\(reason.isEmpty ? "" : " \(reason)")", excerpt)
      }
      return answered(place, status, known, route)
    }
  }

  private static func place(_ facts: GatewayFacts) -> String {
    facts.certificate.map { "\(facts.address) with \($0)" } ?? facts.address
  }

  private static func broken(_ facts: GatewayFacts, _ place: String, _ words: String) -> Finding {
    let path =
      facts.proxy == nil
      ? "nothing between changes TLS (ALPN h2)"
      : "neither the proxy nor anything behind it changes TLS (ALPN h2) or answers in APNs' place"
    return .error(
      .gateway, place, words,
      remedy: facts.certificate == nil
        ? "check that the address is APNs and that \(path)"
        : "the gateway may have refused the certificate: is it revoked, expired, or of another environment?"
          + " Else check that \(path)"
    )
  }

  private static func noServerHello(
    _ facts: GatewayFacts, _ place: String, _ bytes: Int, answersSmall: Bool
  ) -> Finding {
    guard answersSmall else {
      return .error(
        .gateway, place,
        "connected, but no answer to the TLS ClientHello, not to a small one either",
        remedy:
          "something on the way takes TCP and drops TLS: a firewall, a proxy or a dead load balancer; let TCP to"
          + " \(facts.address) through untouched")
    }
    return .error(
      .gateway, place,
      "connected, but no answer to the TLS ClientHello of \(bytes) bytes; a smaller one is answered",
      remedy:
        "set tls-groups to X25519:P-256, or mend the path: a firewall drops a ClientHello of several packets, or"
        + " packets are larger than the path takes (MTU; let ICMP \"fragmentation needed\" through)"
    )
  }

  /// An answer that is not of APNs.
  private static func foreign(
    _ facts: GatewayFacts, _ place: String, _ words: String, _ excerpt: String
  ) -> Finding {
    .error(
      .gateway, place,
      "answers \(words), which APNs does not\(excerpt.isEmpty ? "" : ": \"\(excerpt)\"")",
      remedy:
        "correct the gateway's name and port if it is not APNs; else a captive portal, an HTTP proxy or a TLS"
        + " inspection answers in its place: let TCP to \(facts.address) through untouched, or set proxy"
    )
  }

  private static func answered(
    _ place: String, _ status: Int, _ reason: Reason, _ route: String
  ) -> Finding {
    switch reason {
    case .badCertificate, .badCertificateEnvironment, .forbidden:
      return .error(
        .gateway, place, "refuses the certificate: \(status) \(reason.name)",
        remedy: "use a certificate of this environment that is neither revoked nor expired")
    case .internalServerError, .serviceUnavailable, .serviceUnavailableSpaced, .shutdown:
      return .warning(
        .gateway, place, "is APNs, and has trouble: \(status) \(reason.name)",
        remedy: "see https://developer.apple.com/system-status/")
    default:
      return .ok(.gateway, place, "is APNs (TLS, HTTP/2)\(route): \(status) \(reason.name)")
    }
  }
}
