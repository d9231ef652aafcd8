// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTP2
import SenderDecisions
import ServiceKit
public import Telemetry

/// What a sender has on `/metrics` beside the counters of its loops (`SenderCounter`). The control thread counts, the rest
/// is collected when somebody asks.
public enum SenderMetrics: Int, MetricTable {
  case notifications, appNotifications, errorResponses, responses, delivery, request, retryBudget
  case goAways, streamFailures, connections, openStreams, streamLimit, streamCredit, destinations
  case blocked, held, refusedSeconds, governedStreams, backlog, lanePlace, slow, quiet, pausedApps
  case pausedLanes, pausedCampaigns, paces, paceAllowed, partitionsAssigned, dedupWindowsKept
  case offsetMapsRefused, unreadableTokens, badTokenRecords, vanishedTokens, futureTokens
  case credentialsWithoutToken, tokenIssued, tokenGeneration, certificateEnd, certificateFileEnd
  case reloadRefused

  /// Credentials, and as many certificates, that have series of their own: the first ones. The others share one.
  public static let namedCredentials = 200
  private static let credentials = "\(2 * namedCredentials + 1) credentials and certificates"

  public var row: MetricRow {
    switch self {
    case .notifications:
      .sampled(
        "martlet_sender_notifications_total", .counter, labels: ["outcome", "lane", "environment"],
        bound: "\(Outcome.ofPushes.count) outcomes × lanes × 2 environments",
        "Notifications that have ended, by outcome.")
    case .appNotifications:
      .sampled(
        "martlet_sender_app_notifications_total", .counter, labels: ["app", "outcome"],
        bound: "\(AppCounts.namedApps + 1) apps × \(Outcome.ofPushes.count) outcomes",
        "Notifications that have ended, by app: the first \(AppCounts.namedApps) that a credential names, and other for all"
          + " the others.")
    case .errorResponses:
      .sampled(
        "martlet_sender_error_responses_total", .counter, labels: ["reason", "environment"],
        bound: "(reasons that Apple documents + 1) × 2 environments",
        "Answers of APNs other than 200, by Apple's reason; Other for one that is not documented.")
    case .responses:
      .sampled(
        "martlet_sender_responses_total", .counter,
        labels: ["credential", "environment", "result"],
        bound: "\(Self.credentials) × 2 environments × 2 results",
        "Answers of APNs by the credential they were for: accepted or refused.")
    case .delivery:
      .sampled(
        "martlet_sender_delivery_seconds", .histogram, labels: ["lane"], bound: "lanes × 22 series",
        "Time from a notification's creation by ingest to the answer of APNs that ended it, with retries."
      )
    case .request:
      .sampled(
        "martlet_sender_request_seconds", .histogram, labels: ["environment"],
        bound: "2 environments × 22 series",
        "Time from the last send of a notification to the answer of APNs.")
    case .retryBudget:
      .sampled(
        "martlet_sender_retry_budget", .gauge, merge: .lowest,
        "Immediate retries that the destination with the fewest may still make.")
    case .goAways:
      .sampled(
        "martlet_sender_goaways_total", .counter, labels: ["reason"],
        bound: "reasons that Apple documents + 2", event: SenderLog.goAway,
        "GOAWAY frames by Apple's reason; None without one, Other for one that is not documented.")
    case .streamFailures:
      .sampled(
        "martlet_sender_streams_failed_total", .counter, labels: ["code"],
        bound: "\(HTTP2ErrorCode.names.count + 1)",
        "Requests whose stream ended without an answer, by HTTP/2 error code; INTERNAL_ERROR also when the connection was"
          + " lost, CANCEL also when we gave the request up.")
    case .connections:
      .sampled(
        "martlet_sender_connections", .gauge, labels: ["state"], bound: "7",
        "Connections to APNs by state.")
    case .openStreams:
      .sampled(
        "martlet_sender_streams_open", .gauge, labels: ["environment"], bound: "2",
        "Requests that APNs has not answered yet.")
    case .streamLimit:
      .sampled(
        "martlet_sender_streams_limit", .gauge, labels: ["environment"], bound: "2",
        "Requests that APNs allows at once on all connections that take some.")
    case .streamCredit:
      .sampled(
        "martlet_sender_streams_credit", .gauge, labels: ["environment"], bound: "2",
        "Requests that could be sent now.")
    case .destinations:
      .sampled(
        "martlet_sender_destinations", .gauge, labels: ["state"], bound: "6",
        "Pairs of credential and gateway of each loop: working, without a provider token (no_token), or blocked because"
          + " the gateway fails (gateway), APNs refuses the credential (credential) or an app (app), or no connection can"
          + " be made (connects).")
    case .blocked:
      .sampled(
        "martlet_sender_destination_blocked_seconds", .gauge, labels: ["state"], bound: "5",
        merge: .highest,
        "How long a destination has been in a state other than working, without an accepted notification; of the longest."
      )
    case .held:
      .sampled(
        "martlet_sender_blocked_notifications", .gauge,
        labels: ["credential", "environment", "state"],
        bound: "\(Self.credentials) × 2 environments × 5 states",
        "Notifications in memory that wait for a destination in a state other than working; of an app that APNs refuses, most"
          + " wait in retry topics.")
    case .refusedSeconds:
      .sampled(
        "martlet_sender_refused_seconds", .gauge,
        labels: ["app", "credential", "environment", "reason"],
        bound: "\(AppCounts.namedApps + 1) apps per loop × credentials × 2 environments × reasons",
        merge: .highest, event: SenderLog.appRefused,
        "How long APNs has refused an app with a credential, or the credential (app is empty), without an accepted"
          + " notification; only while it does. The app is other for those beyond the first \(AppCounts.namedApps)."
      )
    case .governedStreams:
      .sampled(
        "martlet_sender_governed_streams", .gauge, labels: ["credential", "environment"],
        bound: "\(Self.credentials) × 2 environments",
        "Streams that lanes behind the first one may have open at a destination whose answers are slow or 503; no series"
          + " while nothing holds them back.")
    case .backlog:
      .sampled(
        "martlet_sender_backlog_seconds", .gauge, labels: ["lane"], bound: "lanes + 1",
        merge: .highest,
        "Age of the oldest notification that was taken and has no outcome, since ingest created it; 0 without one. The lane"
          + " retries is that of the retry topics.")
    case .lanePlace:
      .sampled(
        "martlet_sender_lane_place", .gauge, labels: ["lane"], bound: "lanes", merge: .highest,
        "Place of a lane in --lanes, from 0: that is the one that matters most, and alerts and scaling go by it, whatever it is"
          + " called.")
    case .slow:
      .sampled(
        "martlet_sender_slow_notifications", .gauge,
        "Notifications in memory that ingest created more than a minute ago; /debug/state has the oldest of each partition."
      )
    case .quiet:
      .sampled(
        "martlet_sender_last_accepted_seconds", .gauge, merge: .lowest,
        "How long ago APNs accepted a push of this process last; before the first one, since the process started."
      )
    case .pausedApps: .counted(Self.paused, "app")
    case .pausedLanes: .counted(Self.paused, "lane")
    case .pausedCampaigns: .counted(Self.paused, "campaign")
    case .paces:
      .gauge(
        "martlet_sender_paces", merge: .highest,
        "Paces that an operator has set (martlet pace lists them).")
    case .paceAllowed:
      .sampled(
        "martlet_sender_pace_allowed", .gauge, labels: ["pace"],
        bound: "4,096 apps and groups, 8 lanes",
        "Notifications a second that this process may send of what has a pace: the pace's part that its partitions are of all."
      )
    case .partitionsAssigned:
      .gauge(
        "martlet_sender_partitions_assigned", event: ServiceKitLog.partitionsAssigned,
        "Partitions that the group has given to this process.")
    case .dedupWindowsKept:
      .counter(
        "martlet_sender_dedup_windows_kept_total",
        "Windows of apns-ids that were kept over a rebalance.")
    case .offsetMapsRefused:
      .counter(
        "martlet_sender_offset_maps_refused_total",
        event: SenderLog.offsetMapInvalid,
        "Commit metadata that was not a valid offset map; the offset alone was used.")
    case .unreadableTokens: .counted(Self.ignoredTokenRecords, "unreadable")
    case .badTokenRecords: .counted(Self.ignoredTokenRecords, "invalid")
    case .vanishedTokens: .counted(Self.ignoredTokenRecords, "removed")
    case .futureTokens: .counted(Self.ignoredTokenRecords, "future")
    case .credentialsWithoutToken:
      .gauge(
        "martlet_sender_credentials_without_token",
        event: SenderLog.noToken,
        "Credentials without a provider token that may be sent: their notifications wait.")
    case .tokenIssued:
      .sampled(
        "martlet_sender_provider_token_issued_timestamp_seconds", .gauge, labels: ["credential"],
        bound: "\(Self.namedCredentials) credentials",
        "When the newest provider token of a credential was issued, as Unix time.")
    case .tokenGeneration:
      .sampled(
        "martlet_sender_provider_token_generation", .gauge, labels: ["credential"],
        bound: "\(Self.namedCredentials) credentials",
        "Generation of the newest provider token of a credential.")
    case .certificateEnd:
      .sampled(
        "martlet_sender_certificate_not_after_timestamp_seconds", .gauge, labels: ["certificate"],
        bound: "\(Self.namedCredentials) certificates",
        event: SenderLog.certificateExpires,
        "When a client certificate expires, as Unix time, by the start of its fingerprint.")
    case .certificateFileEnd:
      .sampled(
        "martlet_sender_certificate_file_not_after_timestamp_seconds", .gauge,
        labels: ["certificate"], bound: "\(Self.namedCredentials) certificates",
        "When the certificate expires that the file of a client certificate holds now, as Unix time: later than that of the"
          + " certificate in use while a renewed one is not in use yet.")
    case .reloadRefused:
      .sampled(
        "martlet_sender_reload_refused", .gauge, labels: ["file", "app"],
        bound: "2 files × \(ReloadStatus.namedApps + 1) apps", merge: .highest,
        event: SenderLog.certificatesRefused,
        "1 while a changed file (certificates with the roots, token-key) is refused and earlier content is in use; `app`"
          + " names an app that it would take away, and is empty when the file cannot be used at all."
      )
    }
  }

  private static let paused = Metric(
    "martlet_sender_paused", .gauge, labels: ["kind"], bound: "3", merge: .highest,
    "Apps, lanes and campaigns that an operator has paused (martlet pause and martlet campaign list show them)."
  )
  private static let ignoredTokenRecords = Metric(
    "martlet_sender_provider_token_records_ignored_total", .counter, labels: ["cause"], bound: "4",
    event: SenderLog.tokenInvalid,
    "Records of provider tokens that cannot be used: sealed with an unknown key (unreadable), malformed (invalid), dated"
      + " into the future (future), tombstones (removed).")
}
