// SPDX-License-Identifier: Apache-2.0
import ServiceKit
public import Telemetry

/// What the signer has on `/metrics`.
public enum SignerMetrics {
  /// Credentials that have series of their own; further ones have none.
  public static let namedCredentials = 200

  static let minted = Metric(
    "martlet_signer_tokens_minted_total", .counter,
    event: "provider token published",
    "Provider tokens that were signed and that Kafka has acknowledged.")
  static let requests = Metric(
    "martlet_signer_requests_total", .counter, "Requests of senders for a provider token.")
  static let badRequests = Metric(
    "martlet_signer_requests_invalid_total", .counter,
    event: "invalid token request; ignored", "Records of the requests' topic that cannot be read.")
  static let foundTokens = Metric(
    "martlet_signer_tokens_unexpected_total", .counter, labels: ["cause"], bound: "3",
    "Provider tokens on the topic that are not as they should be: sealed with an unknown key (unreadable), not signed by"
      + " this signer's keys (foreign), dated into the future (future).")
  static let refusals = Metric(
    "martlet_signer_refusals_total", .counter,
    event:
      "APNs refuses a provider token; check that key id, team id and key belong together, that the key was not revoked"
      + " in Apple's developer portal, and this machine's clock",
    "Requests of senders because APNs refused a provider token.")
  static let clockDifference = Metric(
    "martlet_signer_clock_difference_seconds", .gauge, unit: .seconds, merge: .highest,
    event:
      "a sender's clock is ahead of this signer's; check both (NTP): provider tokens carry the signer's time",
    "How far a sender's clock was ahead of this process's when that was noticed last; 0 if it never was."
  )
  static let owner = Metric(
    "martlet_signer_owner", .gauge, merge: .highest, event: "this signer mints now",
    "1 while this signer is the one that mints.")
  static let tokenIssued = Metric(
    "martlet_signer_provider_token_issued_timestamp_seconds", .gauge, unit: .seconds,
    labels: ["credential"], bound: "\(namedCredentials) credentials",
    "When the newest provider token of a credential was issued, as Unix time; of the signer that mints."
  )

  static let reloadRefused = Metric(
    "martlet_signer_reload_refused", .gauge, labels: ["file", "app"],
    bound: "2 files × \(ReloadStatus.namedApps + 1) apps", merge: .highest,
    event:
      "credentials file refused: no key in it serves an app that is served now; keeping the previous credentials",
    "1 while a changed file (credentials, token-key) is refused and earlier content is in use; `app` names an app that it"
      + " would take away, and is empty when the file cannot be used at all."
  )

  public static let all = [
    minted, requests, badRequests, foundTokens, refusals, clockDifference, owner, tokenIssued,
    reloadRefused,
  ]
}

extension SignerCounter {
  var series: MetricSeries? {
    switch self {
    case .minted: MetricSeries(SignerMetrics.minted)
    case .requests: MetricSeries(SignerMetrics.requests)
    case .badRequests: MetricSeries(SignerMetrics.badRequests)
    case .unreadableTokens: MetricSeries(SignerMetrics.foundTokens, ["unreadable"])
    case .foreignTokens: MetricSeries(SignerMetrics.foundTokens, ["foreign"])
    case .futureTokens: MetricSeries(SignerMetrics.foundTokens, ["future"])
    case .refusals: MetricSeries(SignerMetrics.refusals)
    case .clockDifferenceSeconds: MetricSeries(SignerMetrics.clockDifference)
    case .owner: MetricSeries(SignerMetrics.owner)
    }
  }
}
