// SPDX-License-Identifier: Apache-2.0

/// Profiles with provider token faults.
extension GatewayProfile {
  static let credentials: [GatewayProfile] = [
    GatewayProfile(
      "strict-tokens", does: "Provider tokens must have exactly the documented form.",
      catches: """
        An `iat` as text or with a fraction, a signature in DER, base64 with padding, `Bearer`: all accepted today, none \
        documented
        """,
      switches: [("provider-token-form", "strict")]),
    GatewayProfile(
      "expired-tokens", does: "Every 10th request gets `ExpiredProviderToken`.",
      catches:
        "A provider token that is made once; requests that are lost while it is renewed; renewal in a loop",
      switches: [("token-update-rule", "off")],
      rules: [#"{"id": "any_answer", "reason": "ExpiredProviderToken", "when": {"every": 10}}"#]),
    GatewayProfile(
      "one-token-per-team",
      does: """
        A second provider token of a team within 20 minutes gets `TooManyProviderTokenUpdates`, on whatever connection
        """,
      catches: "A token for each request, each connection or each process",
      switches: [("token-update-rule", "token"), ("token-update-scope", "team")]),
    GatewayProfile(
      "clock-ahead",
      does: "The gateway's clock is 50 minutes ahead: a provider token lives for ten.",
      catches: "Renewal by the client's own clock alone, without regard to `ExpiredProviderToken`",
      rules: [#"{"id": "wrong_clock", "skew": "+50m"}"#]),
  ]
}
