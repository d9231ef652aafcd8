// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import Credentials
public import Gateways
import HTTP2
import ServiceKit
public import Telemetry

/// What a sender has on `/metrics`.
public enum SenderMetrics {
  /// Credentials and certificates that have series of their own; the others share one.
  public static let namedCredentials = 200

  static let taken = Metric(
    "martlet_sender_records_taken_total", .counter, "Records taken out of Kafka.")
  static let notifications = Metric(
    "martlet_sender_notifications_total", .counter, labels: ["outcome", "lane", "environment"],
    bound: "\(Outcome.ofPushes.count) outcomes × lanes × 2 environments",
    "Notifications that have ended, by outcome.")
  static let appNotifications = Metric(
    "martlet_sender_app_notifications_total", .counter, labels: ["app", "outcome"],
    bound: "\(AppCounts.namedApps + 1) apps × \(Outcome.ofPushes.count) outcomes",
    "Notifications that have ended, by app: the first \(AppCounts.namedApps) that a credential names, and other for all"
      + " the others.")
  static let invalidRecords = Metric(
    "martlet_sender_invalid_records_total", .counter,
    "Records that are no notification; each is a dead letter.")
  static let errorResponses = Metric(
    "martlet_sender_error_responses_total", .counter, labels: ["reason", "environment"],
    bound: "(reasons that Apple documents + 1) × 2 environments",
    "Answers of APNs other than 200, by Apple's reason; Other for one that is not documented.")
  static let responses = Metric(
    "martlet_sender_responses_total", .counter, labels: ["credential", "environment", "result"],
    bound: "\(namedCredentials + 1) credentials × 2 environments × 2 results",
    "Answers of APNs by the credential they were for: accepted or refused.")
  static let delivery = Metric(
    "martlet_sender_delivery_seconds", .histogram, unit: .seconds, labels: ["lane"],
    bound: "lanes × 22 series",
    "Time from a notification's creation by ingest to the answer of APNs, retries included.")
  static let request = Metric(
    "martlet_sender_request_seconds", .histogram, unit: .seconds, labels: ["environment"],
    bound: "2 environments × 22 series",
    "Time from the last send of a notification to the answer of APNs.")

  static let retries = Metric(
    "martlet_sender_retries_total", .counter, labels: ["cause"], bound: "3",
    "Attempts after the first one: sent again at once because APNs had certainly not processed it (unprocessed) or"
      + " may have (ambiguous), or moved to a retry topic (retry_topic).")
  static let returned = Metric(
    "martlet_sender_returned_total", .counter,
    "Retries of notifications with a key (supersede) that were due and went back to their lane.")
  static let returnedUnknown = Metric(
    "martlet_sender_returned_unknown_total", .counter,
    "Those of them that are older than all that the sender knows of their partition, or came before it had read what it"
      + " has to know, so that a newer one with the key may have been sent before.")
  static let retriesOverBudget = Metric(
    "martlet_sender_retries_over_budget_total", .counter,
    "Immediate retries that the retry budget refused; they went to a retry topic.")
  static let retryBudget = Metric(
    "martlet_sender_retry_budget", .gauge, merge: .lowest,
    "Immediate retries that the destination with the fewest may still make.")
  static let governedStreams = Metric(
    "martlet_sender_governed_streams", .gauge, labels: ["credential", "environment"],
    bound: "\(namedCredentials + 1) credentials × 2 environments",
    "Streams that lanes behind the first one may have open at a destination whose answers are slow or 503; no series"
      + " while nothing holds them back.")
  static let diverted = Metric(
    "martlet_sender_diverted_total", .counter,
    "Notifications moved to a retry topic unsent: over their share, without a credential, a throttled device, a paused app, or a pace."
  )
  static let pacedAside = Metric(
    "martlet_sender_paced_total", .counter,
    "Notifications moved to a retry topic unsent because their app, group or device would have been faster than its pace;"
      + " also in martlet_sender_diverted_total.")
  static let keptInOutage = Metric(
    "martlet_sender_kept_in_outage_total", .counter,
    "Failed attempts that were not counted because the whole destination failed.")
  static let handedBack = Metric(
    "martlet_sender_handed_back_total", .counter,
    "Notifications of revoked partitions that were dropped unsent; the next owner sends them.")
  static let timeouts = Metric(
    "martlet_sender_request_timeouts_total", .counter,
    "Requests that were not answered within --request-timeout.")

  static let foreignAnswers = Metric(
    "martlet_sender_foreign_answers_total", .counter,
    "Answers that are not of APNs, which gives an apns-id and a reason: something on the way gave them, and the"
      + " notifications are sent again.")

  static let connects = Metric(
    "martlet_sender_connects_total", .counter, "Attempts to connect to APNs.")
  static let connectionFailures = Metric(
    "martlet_sender_connection_failures_total", .counter, labels: ["cause"], bound: "3",
    event: "connection lost",
    "Connections that ended otherwise than by our own decision (lost), that were not ready within 10 s or"
      + " silent when another address was (connect_timeout), or that did not answer a PING (silent)."
  )
  static let silentStreams = Metric(
    "martlet_sender_silent_streams_total", .counter,
    "Requests without an answer while others on their connection were answered.")
  static let movedAddress = Metric(
    "martlet_sender_address_changes_total", .counter,
    "Notifications that were sent again to another address of the gateway.")
  static let addressesAside = Metric(
    "martlet_sender_addresses_set_aside_total", .counter,
    "Times that an address of the gateway was avoided because it had failed.")
  static let replacedAged = Metric(
    "martlet_sender_connections_replaced_total", .counter,
    "Connections replaced because of their age.")
  static let closedIdle = Metric(
    "martlet_sender_destinations_closed_idle_total", .counter,
    "Destinations whose connections were closed because nothing was sent through them for long.")
  static let waitsForRoom = Metric(
    "martlet_sender_waits_for_connections_total", .counter,
    "Checks at which a destination had no connection because the process was at its limit."
  )
  static let tokenRequests = Metric(
    "martlet_sender_provider_token_requests_total", .counter,
    "Times that an answer of APNs made a loop ask for a newer provider token.")
  static let goAways = Metric(
    "martlet_sender_goaways_total", .counter, labels: ["reason"],
    bound: "reasons that Apple documents + 2",
    event: "GOAWAY received",
    "GOAWAY frames by Apple's reason; None without one, Other for one that is not documented.")
  static let streamFailures = Metric(
    "martlet_sender_streams_failed_total", .counter, labels: ["code"],
    bound: "\(HTTP2ErrorCode.names.count + 1)",
    "Requests whose stream ended without an answer, by HTTP/2 error code; INTERNAL_ERROR also when the connection was"
      + " lost, CANCEL also when we gave the request up.")
  static let connections = Metric(
    "martlet_sender_connections", .gauge, labels: ["state"], bound: "7",
    "Connections to APNs by state.")
  static let openStreams = Metric(
    "martlet_sender_streams_open", .gauge, labels: ["environment"], bound: "2",
    "Requests that APNs has not answered yet.")
  static let streamLimit = Metric(
    "martlet_sender_streams_limit", .gauge, labels: ["environment"], bound: "2",
    "Requests that APNs allows at once on all connections that take some.")
  static let streamCredit = Metric(
    "martlet_sender_streams_credit", .gauge, labels: ["environment"], bound: "2",
    "Requests that could be sent now.")
  static let destinations = Metric(
    "martlet_sender_destinations", .gauge, labels: ["state"], bound: "6",
    "Pairs of credential and gateway of each loop: working, without a provider token (no_token), or blocked because"
      + " the gateway fails (gateway), APNs refuses the credential (credential) or an app (app), or no connection can"
      + " be made (connects).")
  static let blocked = Metric(
    "martlet_sender_destination_blocked_seconds", .gauge, unit: .seconds, labels: ["state"],
    bound: "5",
    merge: .highest,
    "How long a destination has been in a state other than working, without an accepted notification; of the longest."
  )
  static let held = Metric(
    "martlet_sender_blocked_notifications", .gauge, labels: ["credential", "environment", "state"],
    bound: "\(namedCredentials + 1) credentials × 2 environments × 5 states",
    "Notifications in memory that wait for a destination in a state other than working; of an app that APNs refuses, most"
      + " wait in retry topics.")
  static let refusedSeconds = Metric(
    "martlet_sender_refused_seconds", .gauge, unit: .seconds,
    labels: ["app", "credential", "environment", "reason"],
    bound: "\(AppCounts.namedApps + 1) apps per loop × credentials × 2 environments × reasons",
    merge: .highest,
    event: "APNs refuses an app with this credential; its notifications wait",
    "How long APNs has refused an app with a credential, or the credential (app is empty), without an accepted"
      + " notification; only while it does. The app is other for those beyond the first \(AppCounts.namedApps)."
  )
  static let credentialRefusals = Metric(
    "martlet_sender_credential_refusals_total", .counter,
    event: "APNs refuses the credential; its notifications wait",
    "Times that APNs refused a credential, or an app with one.")

  static let quiet = Metric(
    "martlet_sender_last_accepted_seconds", .gauge, unit: .seconds, merge: .lowest,
    "How long ago APNs accepted a push of this process last; before the first one, since the process started."
  )
  static let inFlight = Metric(
    "martlet_sender_notifications_in_flight", .gauge,
    "Notifications taken and without an outcome.")
  static let waiting = Metric(
    "martlet_sender_notifications_waiting", .gauge,
    "Notifications that wait for a stream or a credential.")
  static let backlog = Metric(
    "martlet_sender_backlog_seconds", .gauge, unit: .seconds, labels: ["lane"],
    bound: "lanes + 1",
    merge: .highest,
    "Age of the oldest notification that was taken and has no outcome, since ingest created it; 0 without one. The lane"
      + " retries is that of the retry topics.")
  static let lanePlace = Metric(
    "martlet_sender_lane_place", .gauge, labels: ["lane"], bound: "lanes", merge: .highest,
    "Place of a lane in --lanes, from 0: that is the one that matters most, and alerts and scaling go by it, whatever it is"
      + " called.")
  static let slow = Metric(
    "martlet_sender_slow_notifications", .gauge,
    "Notifications in memory that ingest created more than a minute ago; /debug/state has the oldest of each partition."
  )
  static let incomplete = Metric(
    "martlet_sender_incomplete_offsets", .gauge,
    "Records taken and not complete, over all partitions.")
  static let completedRuns = Metric(
    "martlet_sender_completed_runs", .gauge,
    "Stretches of complete offsets above the committed ones, over all partitions.")
  static let oldestIncomplete = Metric(
    "martlet_sender_committed_offset_age_seconds", .gauge, unit: .seconds, merge: .highest,
    "How long the oldest incomplete record of any partition has kept its committed offset from moving."
  )
  static let widestSpan = Metric(
    "martlet_sender_offset_span", .gauge, merge: .highest,
    "Offsets between the oldest incomplete record and the newest, in the partition where that is most."
  )
  static let partitionsPaused = Metric(
    "martlet_sender_partitions_paused", .gauge,
    "Partitions from which nothing is taken because too much of them is incomplete.")
  static let paused = Metric(
    "martlet_sender_paused", .gauge, labels: ["kind"], bound: "3", merge: .highest,
    "Apps, lanes and campaigns that an operator has paused (martlet pause and martlet campaign list show them)."
  )
  static let paces = Metric(
    "martlet_sender_paces", .gauge, merge: .highest,
    "Paces that an operator has set (martlet pace lists them).")
  static let paceAllowed = Metric(
    "martlet_sender_pace_allowed", .gauge, labels: ["pace"],
    bound: "4,096 apps and groups, 8 lanes",
    "Notifications a second that this process may send of what has a pace: the pace's part that its partitions are of all."
  )
  static let paceWaiting = Metric(
    "martlet_sender_pace_waiting", .gauge,
    "Notifications that wait in memory for the pace of their app or group; the others wait in Kafka."
  )
  static let paceForgotten = Metric(
    "martlet_sender_paced_devices_forgotten_total", .counter,
    "Devices with a pace that were forgotten although their last pushes still count, because there are too many: they may"
      + " get more than their pace.")
  static let partitions = Metric(
    "martlet_sender_partitions_assigned", .gauge,
    event: "partitions assigned", "Partitions that the group has given to this process.")
  static let dedupRebuilds = Metric(
    "martlet_sender_dedup_rebuilds_total", .counter,
    event: "apns-id windows rebuilt",
    "Windows of apns-ids that were read again after an assignment.")
  static let dedupRebuildsLate = Metric(
    "martlet_sender_dedup_rebuilds_late_total", .counter,
    "Partitions that were started before their window of apns-ids was complete.")
  static let dedupWindowsKept = Metric(
    "martlet_sender_dedup_windows_kept_total", .counter,
    "Windows of apns-ids that were kept over a rebalance.")

  static let offsetMapsRefused = Metric(
    "martlet_sender_offset_maps_refused_total", .counter,
    event: "commit metadata is not a valid offset map; ignored",
    "Commit metadata that was not a valid offset map; the offset alone was used.")
  static let badTokenRecords = Metric(
    "martlet_sender_provider_token_records_ignored_total", .counter, labels: ["cause"], bound: "3",
    event: "invalid provider token record; keeping the last good token",
    "Records of provider tokens that cannot be used: sealed with an unknown key (unreadable), malformed (invalid), dated"
      + " into the future (future).")
  static let withoutToken = Metric(
    "martlet_sender_credentials_without_token", .gauge,
    event:
      "no valid provider token; notifications wait in Kafka until they expire. Is martlet-signer running, and do the clocks agree?",
    "Credentials without a provider token that may be sent: their notifications wait.")
  static let tokenIssued = Metric(
    "martlet_sender_provider_token_issued_timestamp_seconds", .gauge, unit: .seconds,
    labels: ["credential"], bound: "\(namedCredentials) credentials",
    "When the newest provider token of a credential was issued, as Unix time.")
  static let tokenGeneration = Metric(
    "martlet_sender_provider_token_generation", .gauge, labels: ["credential"],
    bound: "\(namedCredentials) credentials",
    "Generation of the newest provider token of a credential.")
  static let certificateEnd = Metric(
    "martlet_sender_certificate_not_after_timestamp_seconds", .gauge, unit: .seconds,
    labels: ["certificate"], bound: "\(namedCredentials) certificates",
    event: "client certificate expires soon; renew it, its file is read again when it changes",
    "When a client certificate expires, as Unix time, by the start of its fingerprint.")
  static let certificateFileEnd = Metric(
    "martlet_sender_certificate_file_not_after_timestamp_seconds", .gauge, unit: .seconds,
    labels: ["certificate"], bound: "\(namedCredentials) certificates",
    "When the certificate expires that the file of a client certificate holds now, as Unix time: later than that of the"
      + " certificate in use while a renewed one is not in use yet.")
  static let reloadRefused = Metric(
    "martlet_sender_reload_refused", .gauge, labels: ["file", "app"],
    bound: "2 files × \(ReloadStatus.namedApps + 1) apps", merge: .highest,
    event:
      "client certificates refused: none of them serves an app that is served now; keeping the previous ones",
    "1 while a changed file (certificates with the roots, token-key) is refused and earlier content is in use; `app`"
      + " names an app that it would take away, and is empty when the file cannot be used at all.")

  public static let all: [Metric] =
    [
      taken, notifications, appNotifications, invalidRecords, errorResponses, responses, delivery,
      request,
    ]
    + [
      retries, returned, returnedUnknown, retriesOverBudget, retryBudget, diverted, pacedAside,
      keptInOutage, handedBack, timeouts, foreignAnswers,
    ]
    + [connects, connectionFailures, silentStreams, movedAddress, addressesAside, replacedAged]
    + [closedIdle, waitsForRoom, tokenRequests]
    + [goAways, streamFailures, connections, openStreams, streamLimit, streamCredit, destinations]
    + [blocked, held, refusedSeconds, governedStreams]
    + [
      credentialRefusals, inFlight, waiting, backlog, lanePlace, slow, quiet, incomplete,
      completedRuns,
    ]
    + [oldestIncomplete, widestSpan, partitionsPaused, paused, paces, paceAllowed, paceWaiting]
    + [paceForgotten, partitions, dedupRebuilds]
    + [dedupRebuildsLate, dedupWindowsKept, offsetMapsRefused]
    + [badTokenRecords, withoutToken, tokenIssued, tokenGeneration]
    + [certificateEnd, certificateFileEnd, reloadRefused]
}

extension SenderCounter {
  public var series: MetricSeries? {
    switch self {
    case .taken: MetricSeries(SenderMetrics.taken)
    // By lane and environment in `SenderMetrics.notifications`, by cause in `goAways`.
    case .delivered, .rejected, .expired, .suppressed, .deduplicated, .superseded, .cancelled,
      .deadLettered,
      .goAways:
      nil
    // In `SenderMetrics.connections`, by state.
    case .openConnections: nil
    case .invalidRecords: MetricSeries(SenderMetrics.invalidRecords)
    case .retried: MetricSeries(SenderMetrics.retries, ["retry_topic"])
    case .resentUnprocessed: MetricSeries(SenderMetrics.retries, ["unprocessed"])
    case .resentAmbiguous: MetricSeries(SenderMetrics.retries, ["ambiguous"])
    case .retriesOverBudget: MetricSeries(SenderMetrics.retriesOverBudget)
    case .returned: MetricSeries(SenderMetrics.returned)
    case .returnedUnknown: MetricSeries(SenderMetrics.returnedUnknown)
    case .diverted: MetricSeries(SenderMetrics.diverted)
    case .pacedAside: MetricSeries(SenderMetrics.pacedAside)
    case .waitingForPace: MetricSeries(SenderMetrics.paceWaiting)
    case .forgottenDevices: MetricSeries(SenderMetrics.paceForgotten)
    case .keptInOutage: MetricSeries(SenderMetrics.keptInOutage)
    case .timedOut: MetricSeries(SenderMetrics.timeouts)
    case .foreignAnswers: MetricSeries(SenderMetrics.foreignAnswers)
    case .connects: MetricSeries(SenderMetrics.connects)
    case .connectionsLost: MetricSeries(SenderMetrics.connectionFailures, ["lost"])
    case .connectTimeouts: MetricSeries(SenderMetrics.connectionFailures, ["connect_timeout"])
    case .silentConnections: MetricSeries(SenderMetrics.connectionFailures, ["silent"])
    case .silentStreams: MetricSeries(SenderMetrics.silentStreams)
    case .movedAddress: MetricSeries(SenderMetrics.movedAddress)
    case .addressesAside: MetricSeries(SenderMetrics.addressesAside)
    case .replacedAged: MetricSeries(SenderMetrics.replacedAged)
    case .closedIdle: MetricSeries(SenderMetrics.closedIdle)
    case .waitsForRoom: MetricSeries(SenderMetrics.waitsForRoom)
    case .tokenRequests: MetricSeries(SenderMetrics.tokenRequests)
    case .credentialRefusals: MetricSeries(SenderMetrics.credentialRefusals)
    case .handedBack: MetricSeries(SenderMetrics.handedBack)
    case .dedupRebuilds: MetricSeries(SenderMetrics.dedupRebuilds)
    case .dedupRebuildsLate: MetricSeries(SenderMetrics.dedupRebuildsLate)
    case .inFlight: MetricSeries(SenderMetrics.inFlight)
    case .waiting: MetricSeries(SenderMetrics.waiting)
    case .openRecords: MetricSeries(SenderMetrics.incomplete)
    case .completedRuns: MetricSeries(SenderMetrics.completedRuns)
    case .oldestOpenMilliseconds:
      MetricSeries(SenderMetrics.oldestIncomplete, isMilliseconds: true)
    case .widestSpan: MetricSeries(SenderMetrics.widestSpan)
    case .partitionsPaused: MetricSeries(SenderMetrics.partitionsPaused)
    }
  }
}

extension SenderGroupCounter {
  var series: MetricSeries? {
    switch self {
    case .offsetMapsRefused: MetricSeries(SenderMetrics.offsetMapsRefused)
    case .unreadableTokens: MetricSeries(SenderMetrics.badTokenRecords, ["unreadable"])
    case .badTokenRecords: MetricSeries(SenderMetrics.badTokenRecords, ["invalid"])
    case .vanishedTokens: MetricSeries(SenderMetrics.badTokenRecords, ["removed"])
    case .futureTokens: MetricSeries(SenderMetrics.badTokenRecords, ["future"])
    case .pausedApps: MetricSeries(SenderMetrics.paused, ["app"])
    case .pausedLanes: MetricSeries(SenderMetrics.paused, ["lane"])
    case .pausedCampaigns: MetricSeries(SenderMetrics.paused, ["campaign"])
    case .paces: MetricSeries(SenderMetrics.paces)
    case .credentialsWithoutToken: MetricSeries(SenderMetrics.withoutToken)
    case .dedupWindowsKept: MetricSeries(SenderMetrics.dedupWindowsKept)
    case .partitionsAssigned: MetricSeries(SenderMetrics.partitions)
    }
  }
}

extension CertificateCounter {
  /// As a timestamp in `SenderMetrics.certificateEnd`.
  var series: MetricSeries? { nil }
}
