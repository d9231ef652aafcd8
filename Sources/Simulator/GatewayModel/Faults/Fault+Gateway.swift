// SPDX-License-Identifier: Apache-2.0

/// Faults of the whole gateway.
extension Fault {
  public static let deadAddress = Fault(
    "dead_address", "an address that accepts no connections", at: [.standing],
    "`when.address` (needed)",
    example: #""when": {"address": "127.0.0.2", "from": "1m", "until": "2m"}"#
  ) { fields throws(FaultScriptError) in
    guard fields.when.address != nil else {
      throw fields.error("when.address", "must say which address is dead")
    }
    return .refuse
  }

  public static let wrongClock = Fault(
    "wrong_clock", "a wrong clock of the gateway", at: [.standing],
    "`skew` (needed): `-30m`, `+1h`, ten years at most", example: #""skew": "-20m""#
  ) { fields throws(FaultScriptError) in
    guard let skew = try fields.offset("skew") else {
      throw fields.error("skew", "is missing: a time with a sign such as -30m")
    }
    return .clock(skew)
  }

  public static let providerTokenRefused = Fault(
    "provider_token_refused", "refused provider tokens", at: [.standing],
    """
    one of `renewal` (`off`, `token`, `wedge`, `black_hole`), `revoked`, `other_environment`, `unrelated`, \
    `other_team` (each a key id)
    """,
    example: #""renewal": "black_hole""#
  ) { fields throws(FaultScriptError) in
    var found: [FaultCredential] = []
    if fields.has("renewal") { found.append(.renewal(try fields.choice("renewal"))) }
    for change in FaultCredential.KeyChange.allCases {
      if let key = try fields.text(change.rawValue) { found.append(.key(key, change)) }
    }
    guard found.count == 1 else {
      throw FaultScriptError(
        "\(fields.name) needs one of renewal, revoked, other_environment, unrelated, other_team")
    }
    return .providerTokens(found[0])
  }
}
