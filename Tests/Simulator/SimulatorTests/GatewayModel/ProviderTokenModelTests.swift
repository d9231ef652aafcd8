// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing
import Waiting

@Suite struct ProviderTokenModelTests {
  private static let start: Int64 = 1_795_000_000_000
  private static let minute: Int64 = 60_000
  private let key = ProviderKey(keyID: "KEY0000001", teamID: "TEAM000001")

  private func token(_ identity: UInt64, at now: Int64 = start) -> SignedToken {
    SignedToken(identity: identity, issuedAt: now / 1_000)
  }

  private func judge(
    _ binding: inout ConnectionBinding, _ identity: UInt64, minute: Int64,
    _ key: ProviderKey? = nil, _ rules: GatewayRules = GatewayRules(),
    _ environment: Environment = .production
  ) -> TokenVerdict {
    let now = Self.start + minute * Self.minute
    return binding.judge(
      token(identity, at: now), of: key ?? self.key, environment, rules, now: now)
  }

  private let tooSoon = TokenVerdict.refused(.tooManyProviderTokenUpdates)

  @Test func `wedge: after a second token within 20 minutes everything is refused until then`() {
    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0) == .accepted)
    #expect(judge(&binding, 1, minute: 10) == .accepted)
    #expect(judge(&binding, 2, minute: 10) == tooSoon)
    #expect(judge(&binding, 1, minute: 11) == tooSoon)
    #expect(judge(&binding, 1, minute: 19) == tooSoon)
    #expect(judge(&binding, 2, minute: 20) == .accepted)
    #expect(judge(&binding, 2, minute: 21) == .accepted)
  }

  @Test(arguments: [Int64.min, Int64.min + 1, Int64.max])
  func `an issue time that is no time is refused`(issuedAt: Int64) {
    var binding = ConnectionBinding()
    let verdict = binding.judge(
      SignedToken(identity: 1, issuedAt: issuedAt), of: key, .production, GatewayRules(),
      now: Self.start)
    #expect(verdict == .refused(.invalidProviderToken))
  }

  @Test func `token: only the new token is refused`() {
    var rules = GatewayRules()
    rules.tokenUpdateRule = .token
    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0, nil, rules) == .accepted)
    #expect(judge(&binding, 2, minute: 5, nil, rules) == tooSoon)
    #expect(judge(&binding, 1, minute: 6, nil, rules) == .accepted)
    #expect(judge(&binding, 2, minute: 20, nil, rules) == .accepted)
  }

  @Test func `blackhole: the refusal is the last word for a while`() {
    var rules = GatewayRules()
    rules.tokenUpdateRule = .blackhole
    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0, nil, rules) == .accepted)
    #expect(judge(&binding, 2, minute: 5, nil, rules) == tooSoon)
    #expect(judge(&binding, 1, minute: 6, nil, rules) == .silent)
    #expect(judge(&binding, 2, minute: 20, nil, rules) == .accepted)
  }

  @Test func `off: tokens may change at will`() {
    var rules = GatewayRules()
    rules.tokenUpdateRule = .off
    var binding = ConnectionBinding()
    for identity in UInt64(1)...10 {
      #expect(judge(&binding, identity, minute: 0, nil, rules) == .accepted)
    }
  }

  @Test func `an expired token wedges the connection, or only itself`() {
    let now = Self.start
    for (mode, second) in [
      (GatewayRules.ExpiredToken.wedge, TokenVerdict.refused(.expiredProviderToken)),
      (.answer, .accepted),
    ] {
      var rules = GatewayRules()
      rules.expiredToken = mode
      var binding = ConnectionBinding()
      let old = SignedToken(identity: 1, issuedAt: now / 1_000 - 3_601)
      #expect(
        binding.judge(old, of: key, .production, rules, now: now)
          == .refused(.expiredProviderToken))
      #expect(binding.judge(token(2), of: key, .production, rules, now: now) == second)
    }
  }

  @Test func `age: an hour and not more, in both directions`() {
    for (offset, verdict) in [
      (-3_600, TokenVerdict.accepted), (-3_601, .refused(.expiredProviderToken)),
      (3_600, .accepted), (3_601, .refused(.invalidProviderToken)),
    ] {
      var binding = ConnectionBinding()
      let given = SignedToken(identity: 1, issuedAt: Self.start / 1_000 + Int64(offset))
      #expect(
        binding.judge(given, of: key, .production, GatewayRules(), now: Self.start) == verdict)
    }
  }

  @Test func `a revoked key, a key of the other environment, another team, an unrelated key`() {
    var rules = GatewayRules()
    func fresh(_ key: ProviderKey) -> TokenVerdict {
      var binding = ConnectionBinding()
      return judge(&binding, 1, minute: 0, key, rules)
    }
    let revoked = ProviderKey(keyID: "K", teamID: "T", isRevoked: true)
    let sandbox = ProviderKey(keyID: "K", teamID: "T", environment: .sandbox)
    #expect(fresh(revoked) == .refused(.forbidden))
    #expect(fresh(sandbox) == .refused(.badEnvironmentKeyIdInToken))
    rules.revokedKey = .invalidProviderToken
    rules.keyEnvironmentReason = .badEnvironmentKeyInToken
    #expect(fresh(revoked) == .refused(.invalidProviderToken))
    #expect(fresh(sandbox) == .refused(.badEnvironmentKeyInToken))

    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0) == .accepted)
    let otherTeam = ProviderKey(keyID: "KEY0000009", teamID: "TEAM000002")
    #expect(judge(&binding, 2, minute: 30, otherTeam) == .refused(.invalidProviderToken))
    let unrelated = ProviderKey(keyID: "KEY0000002", teamID: "TEAM000001")
    #expect(judge(&binding, 2, minute: 30, unrelated) == .refused(.unrelatedKeyIdInToken))
    rules.bindsKeys = false
    #expect(judge(&binding, 2, minute: 30, unrelated, rules) == .accepted)
    // A refused key has not taken the connection over.
    #expect(binding.team == "TEAM000001")
    #expect(binding.keyIDs == ["KEY0000001", "KEY0000002"])
  }

  @Test func `tokens of two related keys may be mixed, and count for themselves`() {
    let related = ProviderKey(keyID: "KEY0000002", teamID: "TEAM000001", relatedKeyID: "KEY0000001")
    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0) == .accepted)
    #expect(judge(&binding, 2, minute: 1, related) == .accepted)
    #expect(judge(&binding, 1, minute: 2) == .accepted)
    #expect(judge(&binding, 2, minute: 3, related) == .accepted)
    #expect(judge(&binding, 3, minute: 4, related) == tooSoon)
    #expect(judge(&binding, 1, minute: 5) == .accepted)
  }

  @Test func `a wider scope is asked with the token`() {
    var rules = GatewayRules()
    rules.tokenUpdateScope = .team
    var binding = ConnectionBinding()
    var asked: [UInt64] = []
    let verdict = binding.judge(token(7), of: key, .production, rules, now: Self.start) {
      asked.append($0.identity)
      return .refused(.tooManyProviderTokenUpdates)
    }
    #expect(verdict == tooSoon)
    #expect(asked == [7])
    #expect(binding.team == nil)
  }

  @Test(arguments: [GatewayRules.TokenUpdateRule.wedge, .token, .blackhole])
  func `tokens that were made to expire may be replaced at once`(
    rule: GatewayRules.TokenUpdateRule
  ) {
    var rules = GatewayRules()
    rules.tokenUpdateRule = rule
    let now = Self.start
    var old = ConnectionBinding()
    let before = old.judge(token(1), of: key, .production, rules, now: now)
    var shared = TokenUpdates()
    let first = shared.judge(token(1), rules, now: now)
    let tooEarly = shared.judge(token(2), rules, now: now)
    #expect([before, first] == [.accepted, .accepted])
    #expect(tooEarly != .accepted)
    rules.expiredTokens = [token(1).identity]
    let after = old.judge(token(1), of: key, .production, rules, now: now + 1)
    #expect(after == .refused(.expiredProviderToken))
    // A signer may date it back.
    let renewed = token(3, at: now - 5_000)
    var fresh = ConnectionBinding()
    let anew = fresh.judge(renewed, of: key, .production, rules, now: now + 1_000)
    let replaced = shared.judge(renewed, rules, now: now + 1_000)
    #expect([anew, replaced] == [.accepted, .accepted])
    // The renewed one is held to the rule again.
    let next = shared.judge(token(4, at: now + 2_000), rules, now: now + 2_000)
    #expect(next != .accepted)
  }

  @Test func `a clock that goes back blocks no key for longer than the interval`() {
    var updates = TokenUpdates()
    let hour = 60 * Self.minute
    let verdicts = [(1, hour), (2, 0), (2, 20 * Self.minute)].map { identity, time in
      updates.judge(token(identity), GatewayRules(), now: Self.start + time)
    }
    #expect(verdicts == [.accepted, tooSoon, .accepted])
  }

  @Test func `a connection keeps the topics that its key had at first`() {
    let before = ProviderKey(keyID: "K", teamID: "T", apps: [Array("a".utf8)])
    let after = ProviderKey(keyID: "K", teamID: "T", apps: [Array("a".utf8), Array("b".utf8)])
    var rules = GatewayRules()
    var binding = ConnectionBinding()
    #expect(judge(&binding, 1, minute: 0, before) == .accepted)
    #expect(binding.apps(of: after, rules) == before.apps)
    rules.snapshotsTopics = false
    #expect(binding.apps(of: after, rules) == after.apps)
  }

  @Test func `seeded runs: accepted tokens never change faster than the interval`() {
    for seed in UInt64(1)...200 {
      var random = SeededGenerator(seed: seed)
      var rules = GatewayRules()
      rules.tokenUpdateRule = [.wedge, .token, .blackhole][Int(random.next() % 3)]
      var updates = TokenUpdates()
      var now: Int64 = 1
      var last: (identity: UInt64, changed: Int64)?
      for _ in 0..<1_000 {
        now += Int64(random.next() % 300_000)
        let identity = random.next() % 4
        guard updates.judge(token(identity, at: now), rules, now: now) == .accepted else {
          continue
        }
        guard let known = last else {
          last = (identity, now)
          continue
        }
        if known.identity != identity {
          #expect(now - known.changed >= rules.tokenUpdateInterval, "seed \(seed)")
          last = (identity, now)
        }
      }
    }
  }

  @Test func `pushes to one token are counted by the second`() {
    var rules = GatewayRules()
    rules.tokenRate = 2
    var rate = TokenRate()
    let answers = [0, 1, 2, 1_000].map { rate.admits(1, rules, now: $0 + 5_000) }
    #expect(answers == [true, true, false, true])
    let other = rate.admits(2, rules, now: 6_000)
    #expect(other)
    rules.tokenRate = 0
    let free = (0..<100).allSatisfy { _ in rate.admits(1, rules, now: 0) }
    #expect(free)
  }
}
