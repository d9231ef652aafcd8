// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import GatewayModel
import GatewaySimulator
import Records
import Testing

@Suite struct ProviderTokenCheckTests {
  private static let now: Int64 = 1_795_000_000
  private let key: TestKey

  init() throws { key = try TestKey() }

  private func gatewayKey(
    _ key: TestKey, environment: Environment? = nil, apps: [String]? = nil
  ) -> GatewayKey {
    GatewayKey(
      keyID: key.id, teamID: key.team, publicKey: key.key.publicKey, environment: environment,
      apps: apps)
  }

  private func answer(
    _ token: String, _ keys: [GatewayKey]? = nil, topic: String = "com.example.app",
    binding: ConnectionBinding = ConnectionBinding(), rules: GatewayRules = GatewayRules()
  ) -> Reason? {
    var access = ConnectionAccess()
    access.binding = binding
    var validator = PushValidator(
      keys: keys ?? [gatewayKey(key)], devices: DeviceRegistry(), environment: .production,
      rules: rules)
    return PushText(token: token).with("apns-topic", topic).withFields {
      validator.judge($0, &access, now: Self.now * 1_000).refusal
    }?.reason
  }

  @Test func `a token is good for an hour and not before`() throws {
    #expect(answer(try key.token(issuedAt: Self.now)) == nil)
    #expect(answer(try key.token(issuedAt: Self.now - 3_600)) == nil)
    #expect(answer(try key.token(issuedAt: Self.now - 3_601)) == .expiredProviderToken)
    #expect(answer(try key.token(issuedAt: Self.now + 3_600)) == nil)
    #expect(answer(try key.token(issuedAt: Self.now + 3_601)) == .invalidProviderToken)
  }

  @Test func `a remembered token still expires`() throws {
    var check = ProviderTokenCheck(keys: [gatewayKey(key)], environment: .production)
    let text = PushText(token: try key.token(issuedAt: Self.now))
    for (later, reason) in [(0, nil), (3_600, nil), (3_601, Reason.expiredProviderToken)] {
      var binding = ConnectionBinding()
      let verdict = text.withFields { push in
        check.judge(push.authorization, binding: &binding, now: (Self.now + Int64(later)) * 1_000)
      }
      #expect(verdict == reason.map { .refused($0) } ?? .accepted)
    }
  }

  /// One check remembers what it accepted on a connection; the other is new for every push and remembers nothing.
  @Test(arguments: 0..<40)
  func `a verdict that is remembered is the verdict of a first look`(seed: UInt64) throws {
    var rules = GatewayRules()
    try rules.set("token-update-rule", ["wedge", "token", "blackhole", "off"][Int(seed % 4)])
    try rules.set("token-update-scope", seed % 5 == 0 ? "team" : "connection")
    try rules.set("expired-token", seed % 3 == 0 ? "answer" : "wedge")
    let keys = [gatewayKey(key)]
    let texts = try [0, -600, -3_000].map {
      PushText(token: try key.token(issuedAt: Self.now + $0))
    }
    var remembering = ProviderTokenCheck(keys: keys, environment: .production, rules: rules)
    var bindings = (ConnectionBinding(), ConnectionBinding())
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    var now = Self.now
    for _ in 0..<60 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let draw = Int64(state >> 40)
      // Mostly the same token again; the clock goes on, and sometimes back.
      let text = texts[draw % 8 < 6 ? 0 : Int(draw % 3)]
      now += draw % 11 == 0 ? -(draw % 900) : draw % 400
      let verdicts = text.withFields { push in
        var fresh = ProviderTokenCheck(keys: keys, environment: .production, rules: rules)
        return (
          remembering.judge(push.authorization, binding: &bindings.0, now: now * 1_000),
          fresh.judge(push.authorization, binding: &bindings.1, now: now * 1_000)
        )
      }
      #expect(verdicts.0 == verdicts.1, "at \(now)")
    }
  }

  @Test func `unknown keys wrong teams and foreign signatures are invalid`() throws {
    let stranger = try TestKey(id: "KEY0000002")
    #expect(answer(try stranger.token(issuedAt: Self.now)) == .invalidProviderToken)
    let impostor = try TestKey()
    #expect(answer(try impostor.token(issuedAt: Self.now)) == .invalidProviderToken)
    let otherTeam = GatewayKey(keyID: key.id, teamID: "TEAM000002", publicKey: key.key.publicKey)
    #expect(answer(try key.token(issuedAt: Self.now), [otherTeam]) == .invalidProviderToken)
  }

  @Test func `changed tokens are invalid`() throws {
    let token = try key.token(issuedAt: Self.now)
    let parts = token.split(separator: ".").map(String.init)
    let unsigned = Base64URL.encode(Array(#"{"alg":"none","kid":"KEY0000001"}"#.utf8))
    let later = Base64URL.encode(Array(#"{"iss":"TEAM000001","iat":1795000001}"#.utf8))
    let text = Base64URL.encode(Array(#"{"iss":"TEAM000001","iat":"1795000000"}"#.utf8))
    for changed in [
      "\(unsigned).\(parts[1]).\(parts[2])", "\(parts[0]).\(later).\(parts[2])",
      "\(parts[0]).\(text).\(parts[2])", "\(parts[0]).\(parts[1]).", "\(parts[0]).\(parts[1])",
      "..", "a.b.c", token + ".x",
    ] {
      #expect(answer(changed) == .invalidProviderToken)
    }
  }

  @Test func `the DER form of a signature is accepted as APNs does`() throws {
    let token = try key.token(issuedAt: Self.now)
    let signed = token.split(separator: ".")[..<2].joined(separator: ".")
    let signature = try key.key.signDER(Array(signed.utf8))
    #expect(answer("\(signed).\(Base64URL.encode(signature))") == nil)
  }

  @Test(arguments: [
    (#""1795000000""#, true), ("1795000000.75", true), (#""1795000000.5""#, true),
    ("1795000000", false), (#""now""#, nil), (#"".5""#, nil), (#""1795000000.""#, nil),
    ("1e300", nil),
    (#""-1""#, nil), ("true", nil), ("null", nil), (#""1795000000 ""#, nil),
  ])
  func `an issue time as a text or with a fraction is taken unless strict`(
    iat: String, onlyLenient: Bool?
  ) throws {
    let header = Base64URL.encode(Array(#"{"alg":"ES256","kid":"\#(key.id)"}"#.utf8))
    let claims = Base64URL.encode(Array(#"{"iss":"\#(key.team)","iat":\#(iat)}"#.utf8))
    let signature = try key.key.signDER(Array("\(header).\(claims)".utf8))
    let token = "\(header).\(claims).\(Base64URL.encode(signature))"
    #expect(answer(token) == (onlyLenient == nil ? .invalidProviderToken : nil))
    let claim = try JSONDocument("[\(iat)]").root.array?[0] ?? .null
    let isTaken = IssueTime.seconds(claim, isLenient: false) != nil
    #expect(isTaken == (onlyLenient == false))
  }

  @Test func `the strict form takes only what is documented`() throws {
    var strict = GatewayRules()
    strict.providerTokenForm = .strict
    let token = try key.token(issuedAt: Self.now)
    #expect(answer(token, rules: strict) == nil)
    let signed = token.split(separator: ".")[..<2].joined(separator: ".")
    let signature = try key.key.signDER(Array(signed.utf8))
    #expect(
      answer("\(signed).\(Base64URL.encode(signature))", rules: strict) == .invalidProviderToken)
    #expect(answer(token + "==", rules: strict) == .invalidProviderToken)
    #expect(answer(token + "==") == nil)
    for (rules, reason) in [(GatewayRules(), nil), (strict, Reason.missingProviderToken)] {
      var access = ConnectionAccess()
      var validator = PushValidator(
        keys: [gatewayKey(key)], devices: DeviceRegistry(), environment: .production, rules: rules)
      let found = PushText(token: token).with("authorization", "Bearer " + token).withFields {
        validator.judge($0, &access, now: Self.now * 1_000).refusal?.reason
      }
      #expect(found == reason)
    }
  }

  @Test func `a connection belongs to the team that came first`() throws {
    let other = try TestKey(team: "TEAM000002", id: "KEY0000002")
    let keys = [gatewayKey(key), gatewayKey(other)]
    var binding = ConnectionBinding()
    _ = binding.judge(
      SignedToken(identity: 1, issuedAt: Self.now), of: keys[1].facts, .production,
      GatewayRules(), now: Self.now * 1_000 - 1_200_000)
    #expect(
      answer(try key.token(issuedAt: Self.now), keys, binding: binding) == .invalidProviderToken)
    #expect(answer(try other.token(issuedAt: Self.now), keys, binding: binding) == nil)
  }

  @Test func `a key of the other environment is named`() throws {
    let token = try key.token(issuedAt: Self.now)
    #expect(answer(token, [gatewayKey(key, environment: .sandbox)]) == .badEnvironmentKeyIdInToken)
    #expect(answer(token, [gatewayKey(key, environment: .production)]) == nil)
  }

  @Test func `a key of some apps may not send for others`() throws {
    let token = try key.token(issuedAt: Self.now)
    let keys = [gatewayKey(key, apps: ["com.example.app"])]
    #expect(answer(token, keys) == nil)
    #expect(answer(token, keys, topic: "com.example.apple") == .topicDisallowed)
    #expect(answer(token, keys, topic: "com.example") == .topicDisallowed)
  }
}
