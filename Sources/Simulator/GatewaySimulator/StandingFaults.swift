// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel

/// The faults that hold for the whole gateway now.
struct StandingFaults {
  /// The time by which the gateway's clock is ahead, in ms.
  private(set) var clockSkew: Int64 = 0
  /// The faults in the handling of provider tokens.
  private(set) var credentials: [FaultCredential] = []
  /// The listeners that do not accept connections.
  private var dead: [FaultMatcher] = []

  init() {}

  init(_ rules: [(action: FaultAction, scope: FaultMatcher)]) {
    for (action, scope) in rules {
      switch action {
      case .clock(let offset): clockSkew += offset
      case .providerTokens(let credential): credentials.append(credential)
      case .refuse: dead.append(scope)
      default: break
      }
    }
  }

  func isDead(_ listener: GatewayListener) -> Bool {
    dead.contains { scope in
      (scope.address ?? listener.host) == listener.host
        && (scope.environment ?? listener.role.environment) == listener.role.environment
    }
  }

  /// Sets the rule about provider tokens that are replaced too early.
  func change(_ rules: inout GatewayRules) {
    for case .renewal(let renewal) in credentials {
      rules.tokenUpdateRule =
        switch renewal {
        case .off: .off
        case .token: .token
        case .wedge: .wedge
        case .blackHole: .blackhole
        }
    }
  }

  /// The keys as the gateway for `environment` sees them.
  func keys(_ keys: [GatewayKey], _ environment: Environment) -> [GatewayKey] {
    guard !credentials.isEmpty else { return keys }
    return keys.map { key in
      let facts = key.facts
      var (team, good, related) = (facts.teamID, facts.environment, facts.relatedKeyID)
      var isRevoked = facts.isRevoked
      for case .key(let id, let change) in credentials {
        switch change {
        case .unrelated: if id == facts.keyID || id == related { related = nil }
        case _ where id != facts.keyID: break
        case .revoked: isRevoked = true
        case .otherEnvironment: good = environment == .production ? .sandbox : .production
        case .otherTeam: team = "OTHERTEAM0"
        }
      }
      return GatewayKey(
        ProviderKey(
          keyID: facts.keyID, teamID: team, environment: good, apps: facts.apps,
          relatedKeyID: related, isRevoked: isRevoked), publicKey: key.publicKey)
    }
  }
}
