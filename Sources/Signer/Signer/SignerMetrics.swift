// SPDX-License-Identifier: Apache-2.0
import ServiceKit
public import Telemetry

public enum SignerMetrics: Int, MetricTable {
  case minted, requests, badRequests, unreadableTokens, foreignTokens, futureTokens, refusals
  case clockDifferenceSeconds, owner, tokenIssued, reloadRefused

  /// Credentials that have series of their own; further ones have none.
  public static let namedCredentials = 200

  public var row: MetricRow {
    switch self {
    case .minted:
      .counter(
        "martlet_signer_tokens_minted_total", event: SignerLog.published,
        "Provider tokens that were signed and that Kafka has acknowledged.")
    case .requests:
      .counter("martlet_signer_requests_total", "Requests of senders for a provider token.")
    case .badRequests:
      .counter(
        "martlet_signer_requests_invalid_total", event: SignerLog.requestInvalid,
        "Records of the requests' topic that cannot be read.")
    case .unreadableTokens: .counted(Self.foundTokens, "unreadable")
    case .foreignTokens: .counted(Self.foundTokens, "foreign")
    case .futureTokens: .counted(Self.foundTokens, "future")
    case .refusals:
      .counter(
        "martlet_signer_refusals_total", event: SignerLog.tokenRefused,
        "Requests of senders because APNs refused a provider token.")
    case .clockDifferenceSeconds:
      .gauge(
        "martlet_signer_clock_difference_seconds", merge: .highest,
        event: SignerLog.senderClockAhead,
        "How far a sender's clock was ahead of this process's when that was noticed last, for an hour; 0 otherwise."
      )
    case .owner:
      .gauge(
        "martlet_signer_owner", merge: .highest, event: SignerLog.minting,
        "1 while this signer is the one that mints.")
    case .tokenIssued:
      .sampled(
        "martlet_signer_provider_token_issued_timestamp_seconds", .gauge, labels: ["credential"],
        bound: "\(Self.namedCredentials) credentials",
        "When the newest provider token of a credential was issued, as Unix time; of the signer that mints."
      )
    case .reloadRefused:
      .sampled(
        "martlet_signer_reload_refused", .gauge, labels: ["file", "app"],
        bound: "2 files × \(ReloadStatus.namedApps + 1) apps", merge: .highest,
        event: SignerLog.credentialsRefused,
        "1 while a changed file (credentials, token-key) is refused and earlier content is in use; `app` names an app that it"
          + " would take away, and is empty when the file cannot be used at all.")
    }
  }

  private static let foundTokens = Metric(
    "martlet_signer_tokens_unexpected_total", .counter, labels: ["cause"], bound: "3",
    "Provider tokens on the topic that are not as they should be: sealed with an unknown key (unreadable), not signed by"
      + " this signer's keys (foreign), dated into the future (future).")
}
