// SPDX-License-Identifier: Apache-2.0
import Contract
public import Telemetry

/// What ingest counts, and has on `/metrics`. Every token of a request ends as a notification, suppressed, or a dead letter.
public enum IngestMetrics: Int, MetricTable {
  case requests, notifications, suppressed, badTokens, badRequests, tooLarge, unusualTokens
  case ineffectivePayloads, payloadWarnings, invalidTraceParents, scheduled, handedBack, blocked
  case inFlight, backlogMilliseconds, invalidTokens, tokensWithoutRoom, tokensIgnored
  case partitionsAssigned

  public var row: MetricRow {
    switch self {
    case .requests: .counter("martlet_ingest_requests_total", "Requests taken out of Kafka.")
    case .notifications: .counted(Self.tokens, "accepted")
    case .suppressed: .counted(Self.tokens, "suppressed")
    case .badTokens: .counted(Self.tokens, "rejected")
    case .badRequests:
      .counter(
        "martlet_ingest_requests_rejected_total",
        "Requests that were refused as a whole; each is a dead letter.")
    case .tooLarge:
      .counter(
        "martlet_ingest_notifications_too_large_total",
        event: IngestLog.tooLarge,
        "Notifications that their topic did not take because of its max.message.bytes; each is a dead letter."
      )
    case .unusualTokens:
      .counter(
        "martlet_ingest_unusual_tokens_total",
        "Notifications to tokens outside 32 to 128 bytes: allowed, but not what devices have today."
      )
    case .ineffectivePayloads:
      .counter(
        "martlet_ingest_ineffective_payloads_total",
        "Requests whose payload has a mistake that devices ignore (docs/payloads.md).")
    case .payloadWarnings:
      .sampled(
        "martlet_ingest_payload_warnings_total", .counter, labels: ["app", "rule"],
        bound: "\(PayloadWarningCounts.namedApps + 1) apps × \(PayloadRule.allCases.count) rules",
        "Requests whose payload has a mistake that devices ignore, by app and rule: the first"
          + " \(PayloadWarningCounts.namedApps) apps with one, and other for the rest.")
    case .invalidTraceParents:
      .counter(
        "martlet_ingest_invalid_traceparents_total",
        "Requests whose traceparent header is not one of version 00; it was dropped."
      )
    case .scheduled:
      .counter(
        "martlet_ingest_requests_scheduled_total",
        "Requests handed to martlet-scheduler because their send_at had not come, or for the devices of their users."
      )
    case .handedBack:
      .counter(
        "martlet_ingest_handed_back_total",
        "Requests dropped from memory because their partition was revoked; the next owner takes them."
      )
    case .blocked:
      .counter(
        "martlet_ingest_blocked_turns_total",
        "Turns in which nothing was taken because Kafka was behind.")
    case .inFlight: .gauge("martlet_ingest_requests_in_flight", "Requests taken and not complete.")
    case .backlogMilliseconds:
      .gauge(
        "martlet_ingest_backlog_seconds", isMilliseconds: true, merge: .highest,
        "Age of the oldest request that was taken and is not complete, since its record was written; 0 without one."
      )
    case .invalidTokens: .gauge("martlet_ingest_invalid_tokens", "Invalid device tokens in memory.")
    case .tokensWithoutRoom:
      .counter(
        "martlet_ingest_invalid_tokens_without_room_total",
        event: IngestLog.tokensWithoutRoom,
        "Invalid or removed device tokens beyond --max-invalid-tokens: pushes to them are sent.")
    case .tokensIgnored:
      .counter(
        "martlet_ingest_invalid_token_records_ignored_total",
        "Records of push.invalid-tokens that are none.")
    case .partitionsAssigned:
      .gauge(
        "martlet_ingest_partitions_assigned", "Partitions that the group has given to this process."
      )
    }
  }

  private static let tokens = Metric(
    "martlet_ingest_tokens_total", .counter, labels: ["outcome"], bound: "3",
    "Device tokens of requests by what became of them: a notification (accepted), nothing because the token is known"
      + " to be invalid (suppressed), a dead letter (rejected).")
}
