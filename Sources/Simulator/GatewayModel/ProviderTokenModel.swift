// SPDX-License-Identifier: Apache-2.0
public import Contract

/// A signing key as the gateway knows it, without the key itself.
public struct ProviderKey: Sendable, Equatable {
  public let keyID: String
  public let teamID: String
  /// The environment that the key is valid for; nil is both, as with older keys.
  public let environment: Environment?
  /// The bundle ids of a topic-specific key; nil is every topic of the team.
  public let apps: [[UInt8]]?
  /// The other key of a pair whose tokens can be mixed on one connection.
  public let relatedKeyID: String?
  public let isRevoked: Bool

  public init(
    keyID: String, teamID: String, environment: Environment? = nil, apps: [[UInt8]]? = nil,
    relatedKeyID: String? = nil, isRevoked: Bool = false
  ) {
    self.keyID = keyID
    self.teamID = teamID
    self.environment = environment
    self.apps = apps
    self.relatedKeyID = relatedKeyID
    self.isRevoked = isRevoked
  }

  /// Whether tokens of both keys can be used on one connection.
  func isRelated(to other: ProviderKey) -> Bool {
    keyID == other.keyID || relatedKeyID == other.keyID || other.relatedKeyID == keyID
  }
}

/// A provider token whose signature was verified.
public struct SignedToken: Sendable, Equatable {
  /// A hash of the token's bytes, to distinguish tokens.
  public let identity: UInt64
  /// Seconds since the epoch.
  public let issuedAt: Int64

  public init(identity: UInt64, issuedAt: Int64) {
    self.identity = identity
    self.issuedAt = issuedAt
  }
}

public enum TokenVerdict: Sendable, Equatable {
  case accepted
  case refused(Reason)
  /// No response at all.
  case silent
}

/// The limit on how often a provider token may be replaced, for one scope: a connection and key, a team, or a client
/// address.
public struct TokenUpdates: Sendable, Equatable {
  private var current: SignedToken?
  private var changedAt: Int64 = 0
  /// The end of the block after a violation.
  private var blockedUntil: Int64 = 0

  public init() {}

  /// Judges a token at `now` (ms). A token that was made to expire can be replaced at once.
  public mutating func judge(
    _ token: SignedToken, _ rules: GatewayRules, now: Int64
  ) -> TokenVerdict {
    guard rules.tokenUpdateRule != .off else { return .accepted }
    if now < changedAt {
      // The clock was moved back.
      changedAt = now
      blockedUntil = min(blockedUntil, now + rules.tokenUpdateInterval)
    }
    if let current, rules.expiredTokens.contains(current.identity) { self = TokenUpdates() }
    if now < blockedUntil {
      return rules.tokenUpdateRule == .blackhole ? .silent : .refused(.tooManyProviderTokenUpdates)
    }
    guard let known = current, known.identity != token.identity else {
      if current == nil { accept(token, now) }
      return .accepted
    }
    guard now - changedAt < rules.tokenUpdateInterval else {
      accept(token, now)
      return .accepted
    }
    switch rules.tokenUpdateRule {
    case .wedge, .blackhole: blockedUntil = changedAt + rules.tokenUpdateInterval
    case .token, .off: break
    }
    return .refused(.tooManyProviderTokenUpdates)
  }

  private mutating func accept(_ token: SignedToken, _ now: Int64) {
    current = token
    changedAt = now
    blockedUntil = 0
  }
}

/// The team and keys that the first valid provider token binds a connection to.
public struct ConnectionBinding: Sendable, Equatable {
  /// One key's use on the connection.
  private struct Use: Sendable, Equatable {
    let key: ProviderKey
    var updates = TokenUpdates()
  }

  /// An accepted token and the time range in which it stays acceptable.
  private struct Pass: Sendable, Equatable {
    let token: UInt64
    /// Milliseconds since the epoch.
    let times: ClosedRange<Int64>
  }

  private var first: Use?
  /// The use of the related key, once there was one.
  private var second: Use?
  /// Whether an expired token was received, after which nothing is answered.
  private var isWedged = false
  private var passed: Pass?

  public init() {}

  public var team: String? { first?.key.teamID }
  public var keyIDs: [String] { [first, second].compactMap { $0?.key.keyID } }

  /// The bundle ids that the connection may send to with this key: those of its first push if the rules say so; nil is
  /// every one.
  public func apps(of key: ProviderKey, _ rules: GatewayRules) -> [[UInt8]]? {
    guard rules.snapshotsTopics else { return key.apps }
    if let first, first.key.keyID == key.keyID { return first.key.apps }
    if let second, second.key.keyID == key.keyID { return second.key.apps }
    return key.apps
  }

  /// Whether this token was the last to be judged, was accepted, and would be again.
  ///
  /// - Parameters:
  ///   - token: A value that distinguishes tokens, keys and rules.
  ///   - now: Milliseconds since the epoch.
  public func letsPass(_ token: UInt64, now: Int64) -> Bool {
    passed.map { $0.token == token && $0.times.contains(now) } ?? false
  }

  /// Remembers that the token judged at `now` was accepted; its team and environment stay valid.
  public mutating func remember(
    _ token: SignedToken, as number: UInt64, _ rules: GatewayRules, now: Int64
  ) {
    // A wider scope also counts other clients' tokens.
    guard case .connection = rules.tokenUpdateScope else { return }
    let end = (token.issuedAt + ProviderTokenClaims.lifetime) * 1_000
    if now <= end { passed = Pass(token: number, times: now...end) }
  }

  /// Judges a token whose signature is valid.
  ///
  /// - Parameters:
  ///   - environment: The gateway's.
  ///   - now: Milliseconds since the epoch.
  ///   - shared: Applies the 20-minute rule when its scope is wider than the connection.
  public mutating func judge(
    _ token: SignedToken, of key: ProviderKey, _ environment: Environment, _ rules: GatewayRules,
    now: Int64, shared: (SignedToken) -> TokenVerdict = { _ in .accepted }
  ) -> TokenVerdict {
    passed = nil
    if isWedged, rules.expiredToken == .wedge { return .refused(.expiredProviderToken) }
    // A client may sign any number.
    let (age, isOutside) = (now / 1_000).subtractingReportingOverflow(token.issuedAt)
    if isOutside { return .refused(.invalidProviderToken) }
    if age > ProviderTokenClaims.lifetime || rules.expiredTokens.contains(token.identity) {
      isWedged = true
      return .refused(.expiredProviderToken)
    }
    if age < -ProviderTokenClaims.lifetime { return .refused(.invalidProviderToken) }
    if key.isRevoked { return .refused(rules.revokedKey) }
    if let wanted = key.environment, wanted != environment {
      return .refused(rules.keyEnvironmentReason)
    }
    if let first {
      if first.key.teamID != key.teamID { return .refused(.invalidProviderToken) }
      if rules.bindsKeys, !first.key.isRelated(to: key) { return .refused(.unrelatedKeyIdInToken) }
    }
    if rules.tokenUpdateScope != .connection {
      let verdict = shared(token)
      if verdict == .accepted { bind(key) }
      return verdict
    }
    return judgeUpdate(token, of: key, rules, now: now)
  }

  private mutating func bind(_ key: ProviderKey) {
    if first == nil {
      first = Use(key: key)
    } else if first?.key.keyID != key.keyID, second == nil {
      second = Use(key: key)
    }
  }

  private mutating func judgeUpdate(
    _ token: SignedToken, of key: ProviderKey, _ rules: GatewayRules, now: Int64
  ) -> TokenVerdict {
    bind(key)
    // A related key's tokens are counted separately.
    if first?.key.keyID == key.keyID || (rules.bindsKeys == false) {
      return first?.updates.judge(token, rules, now: now) ?? .accepted
    }
    return second?.updates.judge(token, rules, now: now) ?? .accepted
  }
}

/// Limits the pushes to one device token per second.
public struct TokenRate: Sendable {
  private var second: Int64 = 0
  private var counts: [UInt64: Int] = [:]
  /// The number of tokens that are tracked; others are accepted within the same second.
  private static let capacity = 1_000_000

  public init() {}

  /// Whether a push to the token with this hash is accepted at `now` (ms).
  public mutating func admits(_ token: UInt64, _ rules: GatewayRules, now: Int64) -> Bool {
    guard rules.tokenRate > 0 else { return true }
    if now / 1_000 != second {
      second = now / 1_000
      counts.removeAll(keepingCapacity: true)
    }
    guard counts.count < Self.capacity || counts[token] != nil else { return true }
    let count = counts[token, default: 0] + 1
    counts[token] = count
    return count <= rules.tokenRate
  }
}
