// SPDX-License-Identifier: Apache-2.0
public import Contract
public import GatewayModel
import Records

/// The facts about a connection that are needed to check its requests.
public struct ConnectionAccess {
  public var binding = ConnectionBinding()
  /// The topics that the client's certificate permits; nil with provider tokens.
  public var certificate: CertificateAccess?
  /// The client's address, without the port.
  public var address = ""

  public init() {}
}

/// The result of checking a push.
public struct PushJudgement: Sendable {
  /// The reason to reject the push; nil if it is acceptable.
  public var refusal: Refusal?
  /// Whether no response is to be sent.
  public var isSilent = false
  /// Whether the credential was valid.
  public var isAuthenticated = false
  /// Whether the body is not a JSON object.
  public var isBrokenJSON = false
  /// The declaration of the device token; nil if it was not declared.
  public var device: DeclaredToken?
  /// What an acceptable broadcast or management request changes.
  var channelChange: ChannelChange?
}

/// Rules that apply across loops; used only when they are enabled.
public struct SharedChecks: Sendable {
  /// Applies the 20-minute rule of a team or address: scope, token, time (ms).
  public var tokenUpdate: @Sendable (String, SignedToken, Int64) -> TokenVerdict
  /// Whether another push to the token with this hash is accepted: hash, time (ms).
  public var tokenRate: @Sendable (UInt64, Int64) -> Bool
  /// Called with the identity of each provider token whose signature is valid, possibly more than once.
  public var tokenSeen: @Sendable (UInt64) -> Void

  public init(
    tokenUpdate: @escaping @Sendable (String, SignedToken, Int64) -> TokenVerdict = { _, _, _ in
      .accepted
    },
    tokenRate: @escaping @Sendable (UInt64, Int64) -> Bool = { _, _ in true },
    tokenSeen: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) {
    self.tokenSeen = tokenSeen
    self.tokenUpdate = tokenUpdate
    self.tokenRate = tokenRate
  }
}

/// Checks device pushes. Owned by one loop, with its copy of the gateway's state.
public struct PushValidator {
  var providerTokens: ProviderTokenCheck
  private let devices: DeviceRegistry
  let rules: GatewayRules
  let environment: Environment
  private let shared: SharedChecks
  /// The offset in milliseconds that `POST /clock/advance` has added, for `provider-token-clock`.
  var clockAhead: Int64 = 0
  let parser = JSONParser()

  public init(
    keys: [GatewayKey], devices: DeviceRegistry, environment: Environment, rules: GatewayRules,
    shared: SharedChecks = SharedChecks()
  ) {
    providerTokens = ProviderTokenCheck(
      keys: keys, environment: environment, rules: rules, seen: shared.tokenSeen)
    self.devices = devices
    self.environment = environment
    self.rules = rules
    self.shared = shared
  }

  /// Checks a push. `now` is in ms since the epoch. The first valid provider token changes the connection's binding.
  public mutating func judge(
    _ given: PushFields, _ access: inout ConnectionAccess, now: Int64
  ) -> PushJudgement {
    var push = given
    var judgement = PushJudgement()
    push.assumeTopic(of: access.certificate)
    for check in rules.checks {
      if case .deviceToken = check {
        judgement.device = push.deviceToken.flatMap { token in token.withSpan { devices.find($0) } }
      }
      let refusal = refusal(check, push, &access, &judgement, now)
      if refusal != nil || judgement.isSilent {
        judgement.refusal = refusal
        return judgement
      }
    }
    return judgement
  }

  private mutating func refusal(
    _ check: PushCheck, _ push: PushFields, _ access: inout ConnectionAccess,
    _ judgement: inout PushJudgement, _ now: Int64
  ) -> Refusal? {
    switch check {
    case .duplicateHeaders: push.hasDuplicate ? Refusal(.duplicateHeaders) : nil
    case .path: path(push)
    case .method: push.method.spells("POST") ? nil : Refusal(.methodNotAllowed)
    case .identifier: identifier(push)
    case .credential: credential(push, &access, &judgement, now)
    case .topic: topic(push, access, isAuthenticated: judgement.isAuthenticated)
    case .pushType: pushType(push, hasCertificate: access.certificate != nil)
    case .priority: priority(push)
    case .expiration: expiration(push)
    case .collapseID: (push.collapseID?.count ?? 0) > 64 ? Refusal(.badCollapseId) : nil
    case .payload: payload(push)
    case .json: json(push, &judgement)
    case .deviceToken: deviceToken(push, judgement.device)
    case .tokenTopic: tokenTopic(push, judgement.device)
    case .tokenState: tokenState(push, judgement.device, now)
    case .tokenRate: tokenRate(push, now)
    }
  }

  private func path(_ push: PushFields) -> Refusal? {
    guard let token = push.deviceToken else { return Refusal(.badPath) }
    return token.count == 0 ? Refusal(.missingDeviceToken) : nil
  }

  private var isStrict: Bool { if case .strict = rules.identifierForm { true } else { false } }

  func identifier(_ push: PushFields) -> Refusal? {
    guard let text = push.identifier else { return nil }
    let isCanonical = text.count == NotificationID.textLength && text.id != nil
    guard isCanonical, isStrict else { return isCanonical ? nil : Refusal(.badMessageId) }
    return text.contains { (0x41...0x46).contains($0) } ? Refusal(.badMessageId) : nil
  }

  mutating func credential(
    _ push: PushFields, _ access: inout ConnectionAccess, _ judgement: inout PushJudgement,
    _ now: Int64
  ) -> Refusal? {
    if let certificate = access.certificate {
      // A provider token is ignored if the client has a certificate.
      judgement.isAuthenticated = certificate.problem == nil
      return certificate.problem.map { Refusal($0) }
    }
    let now = rules.tokenClock == .machine ? now - clockAhead : now
    let scope = rules.tokenUpdateScope
    let (shared, address) = (shared, access.address)
    let verdict = providerTokens.judge(push.authorization, binding: &access.binding, now: now) {
      team, token in
      shared.tokenUpdate(scope == .team ? "team \(team)" : "address \(address)", token, now)
    }
    switch verdict {
    case .accepted:
      judgement.isAuthenticated = true
      return nil
    case .refused(let reason): return Refusal(reason)
    case .silent:
      judgement.isSilent = true
      return nil
    }
  }

  private func topic(
    _ push: PushFields, _ access: ConnectionAccess, isAuthenticated: Bool
  ) -> Refusal? {
    guard let topic = push.topic, topic.count > 0 else { return Refusal(.missingTopic) }
    guard Self.isTopic(topic) else { return Refusal(.badTopic) }
    if let certificate = access.certificate {
      return certificate.allows(topic) ? nil : Refusal(rules.certificateTopic)
    }
    guard isAuthenticated else { return nil }
    return providerTokens.allows(topic: topic, access.binding) ? nil : Refusal(rules.foreignTopic)
  }

  private func pushType(_ push: PushFields, hasCertificate: Bool) -> Refusal? {
    guard let name = push.pushType else { return nil }
    guard let type = name.pushType(in: rules.pushTypes) else { return Refusal(.invalidPushType) }
    if Self.isForTokensOnly(type), hasCertificate { return Refusal(.invalidPushType) }
    guard let topic = push.topic else { return nil }
    return hasSuffix(topic, type) ? nil : Refusal(.badTopic)
  }

  private func hasSuffix(_ topic: UnsafeRawBufferPointer, _ type: PushType) -> Bool {
    guard case .custom = type else { return topic.hasSuffix(type.topicSuffix) }
    return topic.hasSuffix(rules.pushTypes.suffix(of: type) ?? "")
  }

  /// Location queries need a provider token (Apple, "Creating a Location Push Service Extension").
  static func isForTokensOnly(_ type: PushType) -> Bool { type == .location }

  /// The priority that APNs assumes if the field is absent.
  static let assumedPriority: Int64 = 10

  private func priority(_ push: PushFields) -> Refusal? {
    let type = push.pushType?.pushType(in: rules.pushTypes) ?? .alert
    guard let text = push.priority else {
      return type.allows(priority: Self.assumedPriority) ? nil : Refusal(.badPriority)
    }
    guard let priority = text.decimal, type.allows(priority: priority) else {
      return Refusal(.badPriority)
    }
    return nil
  }

  private func expiration(_ push: PushFields) -> Refusal? {
    guard let text = push.expiration else { return nil }
    return text.decimal == nil ? Refusal(.badExpirationDate) : nil
  }

  private func payload(_ push: PushFields) -> Refusal? {
    guard push.bodyCount > 0 else { return Refusal(.payloadEmpty) }
    let limit = (push.pushType?.pushType(in: rules.pushTypes) ?? .alert).payloadLimit
    return push.bodyCount > limit ? Refusal(.payloadTooLarge) : nil
  }

  private func json(_ push: PushFields, _ judgement: inout PushJudgement) -> Refusal? {
    if case .off = rules.jsonCheck { return nil }
    judgement.isBrokenJSON = !parser.isObject(push.body)
    guard case .strict = rules.jsonCheck else { return nil }
    // APNs' response to broken JSON is not documented; one other mock responds this way.
    guard !judgement.isBrokenJSON, let body = try? parser.parse(push.body) else {
      return Refusal(.payloadEmpty)
    }
    let type = push.pushType?.pushType(in: rules.pushTypes) ?? .alert
    return PayloadRules.fits(body, type) ? nil : Refusal(.invalidPushType)
  }

  private func deviceToken(_ push: PushFields, _ device: DeclaredToken?) -> Refusal? {
    guard let token = push.deviceToken, token.isDeviceToken else { return Refusal(.badDeviceToken) }
    guard let device else {
      let isPlausible = token.count >= rules.shortestDeviceToken
      return isPlausible && rules.acceptsUnknownTokens ? nil : Refusal(.badDeviceToken)
    }
    let isHere = device.environment == nil || device.environment == environment
    return isHere && device.state != .bad ? nil : Refusal(.badDeviceToken)
  }

  private func tokenTopic(_ push: PushFields, _ device: DeclaredToken?) -> Refusal? {
    guard let wanted = device?.topic, let topic = push.topic else { return nil }
    return topic.equals(wanted) ? nil : Refusal(.deviceTokenNotForTopic)
  }

  private func tokenState(_ push: PushFields, _ device: DeclaredToken?, _ now: Int64) -> Refusal? {
    guard case .gone(let reason, let timestamp) = device?.state,
      rules.goneDelay == 0 || timestamp <= now - rules.goneDelay
    else { return nil }
    let isExpired =
      rules.goneLiveActivity == .expiredToken
      && push.pushType?.pushType(in: rules.pushTypes) == .liveactivity
    return Refusal(isExpired ? .expiredToken : reason, timestamp: timestamp)
  }

  private func tokenRate(_ push: PushFields, _ now: Int64) -> Refusal? {
    guard rules.tokenRate > 0, let token = push.deviceToken else { return nil }
    return shared.tokenRate(token.foldedHash, now) ? nil : Refusal(.tooManyRequests)
  }

  /// Whether the text has only letters, digits, `.`, `-` and `_`, as bundle ids and Apple's suffixes do.
  static func isTopic(_ topic: UnsafeRawBufferPointer) -> Bool {
    guard topic.count <= 256 else { return false }
    for byte in topic {
      guard
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
          || byte &- UInt8(ascii: "-") < 2 || byte == UInt8(ascii: "_")
      else { return false }
    }
    return true
  }
}
