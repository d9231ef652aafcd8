// SPDX-License-Identifier: Apache-2.0
import Contract
public import Telemetry

/// What ingest has on `/metrics`.
public enum IngestMetrics {
  static let requests = Metric(
    "martlet_ingest_requests_total", .counter, "Requests taken out of Kafka.")
  static let tokens = Metric(
    "martlet_ingest_tokens_total", .counter, labels: ["outcome"], bound: "3",
    "Device tokens of requests by what became of them: a notification (accepted), nothing because the token is known"
      + " to be invalid (suppressed), a dead letter (rejected).")
  static let badRequests = Metric(
    "martlet_ingest_requests_rejected_total", .counter,
    "Requests that were refused as a whole; each is a dead letter.")
  static let tooLarge = Metric(
    "martlet_ingest_notifications_too_large_total", .counter,
    event: "a notification is too large for its topic and became a dead letter",
    "Notifications that their topic did not take because of its max.message.bytes; each is a dead letter."
  )
  static let unusualTokens = Metric(
    "martlet_ingest_unusual_tokens_total", .counter,
    "Notifications to tokens outside 32 to 128 bytes: allowed, but not what devices have today.")
  static let ineffectivePayloads = Metric(
    "martlet_ingest_ineffective_payloads_total", .counter,
    "Requests whose payload has a mistake that devices ignore (docs/payloads.md).")
  static let payloadWarnings = Metric(
    "martlet_ingest_payload_warnings_total", .counter, labels: ["app", "rule"],
    bound: "\(PayloadWarningCounts.namedApps + 1) apps × \(PayloadRule.allCases.count) rules",
    "Requests whose payload has a mistake that devices ignore, by app and rule: the first"
      + " \(PayloadWarningCounts.namedApps) apps with one, and other for all the others.")
  static let invalidTraceParents = Metric(
    "martlet_ingest_invalid_traceparents_total", .counter,
    "Requests whose traceparent header is not one of version 00; it was dropped, and the request went on."
  )
  static let scheduled = Metric(
    "martlet_ingest_requests_scheduled_total", .counter,
    "Requests handed to martlet-scheduler because their send_at had not come, or for the devices of their users."
  )
  static let handedBack = Metric(
    "martlet_ingest_handed_back_total", .counter,
    "Requests dropped from memory because their partition was revoked; the next owner takes them.")
  static let blocked = Metric(
    "martlet_ingest_blocked_turns_total", .counter,
    "Turns in which nothing was taken because Kafka was behind."
  )
  static let inFlight = Metric(
    "martlet_ingest_requests_in_flight", .gauge, "Requests taken and not complete.")
  static let backlog = Metric(
    "martlet_ingest_backlog_seconds", .gauge, unit: .seconds, merge: .highest,
    "Age of the oldest request that was taken and is not complete, since its record was written; 0 without one."
  )
  static let invalidTokens = Metric(
    "martlet_ingest_invalid_tokens", .gauge, "Invalid device tokens in memory.")
  static let partitions = Metric(
    "martlet_ingest_partitions_assigned", .gauge,
    "Partitions that the group has given to this process.")

  public static let all = [
    requests, tokens, badRequests, tooLarge, unusualTokens, ineffectivePayloads,
    payloadWarnings,
    invalidTraceParents, scheduled, handedBack, blocked,
    inFlight, backlog, invalidTokens, partitions,
  ]
}

extension IngestCounter {
  var series: MetricSeries? {
    switch self {
    case .requests: MetricSeries(IngestMetrics.requests)
    case .notifications: MetricSeries(IngestMetrics.tokens, ["accepted"])
    case .suppressed: MetricSeries(IngestMetrics.tokens, ["suppressed"])
    case .badTokens: MetricSeries(IngestMetrics.tokens, ["rejected"])
    case .badRequests: MetricSeries(IngestMetrics.badRequests)
    case .tooLarge: MetricSeries(IngestMetrics.tooLarge)
    case .unusualTokens: MetricSeries(IngestMetrics.unusualTokens)
    case .ineffectivePayloads: MetricSeries(IngestMetrics.ineffectivePayloads)
    case .invalidTraceParents: MetricSeries(IngestMetrics.invalidTraceParents)
    case .scheduled: MetricSeries(IngestMetrics.scheduled)
    case .handedBack: MetricSeries(IngestMetrics.handedBack)
    case .blocked: MetricSeries(IngestMetrics.blocked)
    case .inFlight: MetricSeries(IngestMetrics.inFlight)
    case .backlogMilliseconds: MetricSeries(IngestMetrics.backlog, isMilliseconds: true)
    case .invalidTokens: MetricSeries(IngestMetrics.invalidTokens)
    case .partitionsAssigned: MetricSeries(IngestMetrics.partitions)
    }
  }
}
