// SPDX-License-Identifier: Apache-2.0
public import Contract
public import Crypto
public import GatewayModel
import Records
import Synchronization

/// A signing key that the gateway knows.
public struct GatewayKey: Sendable {
  public let facts: ProviderKey
  public let publicKey: PublicKey

  public init(_ facts: ProviderKey, publicKey: PublicKey) {
    self.facts = facts
    self.publicKey = publicKey
  }

  public init(
    keyID: String, teamID: String, publicKey: PublicKey, environment: Environment? = nil,
    apps: [String]? = nil, relatedKeyID: String? = nil, isRevoked: Bool = false
  ) {
    self.init(
      ProviderKey(
        keyID: keyID, teamID: teamID, environment: environment,
        apps: apps?.map { Array($0.utf8) }, relatedKeyID: relatedKeyID, isRevoked: isRevoked),
      publicKey: publicKey)
  }
}

/// Verifies provider tokens (JSON Web Tokens, ES256). Because one token comes with many requests, its signature is
/// verified once and the result is cached by the token's bytes.
public struct ProviderTokenCheck {
  private enum Finding {
    case refused(Reason)
    case signed(SignedToken, key: Int)
  }

  private struct Known {
    let bytes: [UInt8]
    let finding: Finding
  }

  private let environment: Environment
  private let keys: [GatewayKey]
  private let rules: GatewayRules
  private let seen: @Sendable (UInt64) -> Void
  private var known: [Known] = []
  private var places: [UInt64: Int] = [:]
  private var latest = -1
  /// The index of the key whose token was accepted; nil if the last one was refused.
  private var current: Int?
  /// Counts checks and evictions: combined with a token's index it identifies token, keys and rules.
  private var generation = Self.nextGeneration()
  private static let generations = Atomic<UInt64>(0)

  /// The number of cached tokens; when it is reached, all are dropped.
  private static let capacity = 4_096

  private static func nextGeneration() -> UInt64 { generations.add(1, ordering: .relaxed).newValue }

  /// - Parameter seen: Called with the identity of each token whose signature is valid.
  public init(
    keys: [GatewayKey], environment: Environment, rules: GatewayRules = GatewayRules(),
    seen: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) {
    self.keys = keys
    self.seen = seen
    self.environment = environment
    self.rules = rules
  }

  /// Judges the `authorization` value. `now` is in ms; `shared` applies the 20-minute rule if its scope is wider than a
  /// connection.
  public mutating func judge(
    _ authorization: UnsafeRawBufferPointer?, binding: inout ConnectionBinding, now: Int64,
    shared: (String, SignedToken) -> TokenVerdict = { _, _ in .accepted }
  ) -> TokenVerdict {
    current = nil
    guard let authorization, authorization.count > 7, authorization[6] == UInt8(ascii: " "),
      isBearer(UnsafeRawBufferPointer(rebasing: authorization[..<6]))
    else { return .refused(.missingProviderToken) }
    switch finding(UnsafeRawBufferPointer(rebasing: authorization[7...])) {
    case .refused(let reason): return .refused(reason)
    case .signed(let token, let place):
      let number = generation << 16 | UInt64(latest)
      if binding.letsPass(number, now: now) {
        current = place
        return .accepted
      }
      let key = keys[place].facts
      let verdict = binding.judge(token, of: key, environment, rules, now: now) {
        shared(key.teamID, $0)
      }
      guard verdict == .accepted else { return verdict }
      current = place
      binding.remember(token, as: number, rules, now: now)
      return verdict
    }
  }

  private func isBearer(_ scheme: UnsafeRawBufferPointer) -> Bool {
    if scheme.spells("bearer") { return true }
    guard case .lenient = rules.providerTokenForm else { return false }
    return scheme.foldedHash == Self.bearer
  }

  /// Whether the key of the last token may send to this topic: its bundle ids, with or without a suffix.
  func allows(topic: UnsafeRawBufferPointer, _ binding: ConnectionBinding) -> Bool {
    guard let current, rules.snapshotsTopics || keys[current].facts.apps != nil,
      let apps = binding.apps(of: keys[current].facts, rules)
    else { return true }
    return apps.contains { app in
      topic.count >= app.count && UnsafeRawBufferPointer(rebasing: topic[..<app.count]).equals(app)
        && (topic.count == app.count || topic[app.count] == UInt8(ascii: "."))
    }
  }

  private static let bearer: UInt64 = Array("bearer".utf8).withUnsafeBytes { $0.foldedHash }

  private mutating func finding(_ token: UnsafeRawBufferPointer) -> Finding {
    if latest >= 0, token.equals(known[latest].bytes) { return known[latest].finding }
    // The last bytes of the signature differ between tokens.
    let hash = UnsafeRawBufferPointer(rebasing: token.suffix(24)).foldedHash
    if let place = places[hash], token.equals(known[place].bytes) {
      latest = place
      return known[place].finding
    }
    if known.count >= Self.capacity {
      known = []
      places = [:]
      generation = Self.nextGeneration()
    }
    let entry = Known(
      bytes: Array(token), finding: examine(Array(token), identity: token.foldedHash))
    if case .signed(let token, _) = entry.finding { seen(token.identity) }
    latest = known.count
    places[hash] = latest
    known.append(entry)
    return entry.finding
  }

  /// Parses and verifies a token that is not cached.
  private func examine(_ token: [UInt8], identity: UInt64) -> Finding {
    let isLenient = rules.providerTokenForm == .lenient
    let parts = token.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count == 3, let header = json(parts[0]), header["alg"]?.string == "ES256",
      let keyID = header["kid"]?.string, let claims = json(parts[1]),
      let issuer = claims["iss"]?.string,
      let issuedAt = claims["iat"].flatMap({ IssueTime.seconds($0, isLenient: isLenient) }),
      let place = keys.firstIndex(where: { $0.facts.keyID == keyID }),
      keys[place].facts.teamID == issuer,
      let signature = Base64URL.decode(parts[2], isLenient: isLenient)
    else { return .refused(.invalidProviderToken) }
    let message = Array(token[..<(parts[2].startIndex - 1)])
    let key = keys[place].publicKey
    // The standard requires the raw form; Apple's shell recipe sends DER.
    let isSigned =
      signature.count == 64
      ? key.verifies(message, rawSignature: signature)
      : isLenient && key.verifies(message, derSignature: signature)
    let signed = SignedToken(identity: identity, issuedAt: issuedAt)
    return isSigned ? .signed(signed, key: place) : .refused(.invalidProviderToken)
  }

  private func json(_ part: ArraySlice<UInt8>) -> JSONValue? {
    let isLenient = rules.providerTokenForm == .lenient
    guard let text = Base64URL.decode(part, isLenient: isLenient) else { return nil }
    return try? JSONDocument(text).root
  }
}
