// SPDX-License-Identifier: Apache-2.0

internal import Contract
public import Telemetry

/// The counters of a sender loop. Every record taken ends in exactly one of the outcomes or a retry.
public enum SenderCounter: Int, MetricTable {
  case taken, delivered, rejected, expired, suppressed, deduplicated, superseded, cancelled
  case deadLettered, invalidRecords, retried, resentUnprocessed, resentAmbiguous
  case retriesOverBudget, returned, returnedUnknown, diverted, pacedAside, keptInOutage, timedOut
  case foreignAnswers, connects, connectionsLost, connectTimeouts, silentStreams
  case silentConnections, movedAddress, addressesAside, replacedAged, closedIdle, waitsForRoom
  case credentialRefusals, tokenRequests, goAways, handedBack, leftUnderWay
  case dedupRebuilds, dedupRebuildsLate
  case inFlight, waiting, openConnections, waitingForPace, forgottenDevices, openRecords
  case completedRuns, oldestOpenMilliseconds, widestSpan, partitionsPaused

  public var row: MetricRow {
    switch self {
    case .taken: .counter("martlet_sender_records_taken_total", "Records taken out of Kafka.")
    // By lane and environment in `martlet_sender_notifications_total`.
    case .delivered, .rejected, .expired, .suppressed, .deduplicated, .superseded, .cancelled,
      .deadLettered:
      .line(.total)
    case .invalidRecords:
      .counter(
        "martlet_sender_invalid_records_total",
        "Records that are no notification; each is a dead letter.")
    case .retried: .counted(Self.retries, "retry_topic")
    case .resentUnprocessed: .counted(Self.retries, "unprocessed")
    case .resentAmbiguous: .counted(Self.retries, "ambiguous")
    case .retriesOverBudget:
      .counter(
        "martlet_sender_retries_over_budget_total",
        "Immediate retries that the retry budget refused; they went to a retry topic.")
    case .returned:
      .counter(
        "martlet_sender_returned_total",
        "Retries that were due and went back to their lane: of notifications with a key (supersede), and of those whose"
          + " device has a pace.")
    case .returnedUnknown:
      .counter(
        "martlet_sender_returned_unknown_total",
        "Those with a key that are older than all that the sender knows of their partition, or came before it had read what"
          + " it has to know, so that a newer one with the key may have been sent before.")
    case .diverted:
      .counter(
        "martlet_sender_diverted_total",
        "Notifications moved to a retry topic unsent: over their share, without a credential, a throttled or busy device, an"
          + " app that is refused or paused, a paused campaign, or a pace.")
    case .pacedAside:
      .counter(
        "martlet_sender_paced_total",
        "Notifications moved to a retry topic unsent because their app, group or device would have been faster than its pace;"
          + " also in martlet_sender_diverted_total.")
    case .keptInOutage:
      .counter(
        "martlet_sender_kept_in_outage_total",
        "Failed attempts that were not counted because the whole destination failed.")
    case .timedOut:
      .counter(
        "martlet_sender_request_timeouts_total",
        "Requests that were not answered within --request-timeout.")
    case .foreignAnswers:
      .counter(
        "martlet_sender_foreign_answers_total",
        "Answers that are not of APNs, which gives an apns-id and a reason: something on the way gave them, and the"
          + " notifications are sent again.")
    case .connects: .counter("martlet_sender_connects_total", "Attempts to connect to APNs.")
    case .connectionsLost: .counted(Self.connectionFailures, "lost")
    case .connectTimeouts: .counted(Self.connectionFailures, "connect_timeout")
    case .silentStreams:
      .counter(
        "martlet_sender_silent_streams_total",
        "Requests without an answer while others on their connection were answered.")
    case .silentConnections: .counted(Self.connectionFailures, "silent")
    case .movedAddress:
      .counter(
        "martlet_sender_address_changes_total",
        "Notifications that were sent again to another address of the gateway.")
    case .addressesAside:
      .counter(
        "martlet_sender_addresses_set_aside_total",
        "Times that an address of the gateway was avoided because it had failed.")
    case .replacedAged:
      .counter(
        "martlet_sender_connections_replaced_total",
        "Connections replaced for their age, for apps that are new, or because they allowed no streams for a minute."
      )
    case .closedIdle:
      .counter(
        "martlet_sender_destinations_closed_idle_total",
        "Destinations whose connections were closed because nothing was sent through them for long."
      )
    case .waitsForRoom:
      .counter(
        "martlet_sender_waits_for_connections_total",
        "Checks at which a destination had no connection because the process was at its limit.")
    case .credentialRefusals:
      .counter(
        "martlet_sender_credential_refusals_total",
        event: SenderLog.credentialRefused,
        "Times that APNs refused a credential, or an app with one.")
    case .tokenRequests:
      .counter(
        "martlet_sender_provider_token_requests_total",
        "Times that an answer of APNs made a loop ask for a newer provider token.")
    // By reason in `martlet_sender_goaways_total`.
    case .goAways: .line(.total)
    case .handedBack:
      .counter(
        "martlet_sender_handed_back_total",
        "Notifications of revoked partitions that were dropped without an outcome, unsent or after a send that failed;"
          + " the next owner sends them.")
    case .leftUnderWay:
      .counter(
        "martlet_sender_left_under_way_total", event: SenderLog.leftUnderWay,
        "Notifications of revoked partitions that were under way when the time for their answers was over; the next owner"
          + " sends them again.")
    case .dedupRebuilds:
      .counter(
        "martlet_sender_dedup_rebuilds_total", event: SenderLog.windowsRebuilt,
        "Windows of apns-ids that were read again after an assignment.")
    case .dedupRebuildsLate:
      .counter(
        "martlet_sender_dedup_rebuilds_late_total",
        "Partitions that were started before their window of apns-ids was complete.")
    case .inFlight:
      .gauge(
        "martlet_sender_notifications_in_flight", "Notifications taken and without an outcome.")
    case .waiting:
      .gauge(
        "martlet_sender_notifications_waiting",
        "Notifications that wait for a stream or a credential.")
    // By state in `martlet_sender_connections`.
    case .openConnections: .line(.gauge)
    case .waitingForPace:
      .gauge(
        "martlet_sender_pace_waiting",
        "Notifications that wait in memory for the pace of their app or group; the others wait in Kafka."
      )
    case .forgottenDevices:
      .counter(
        "martlet_sender_paced_devices_forgotten_total",
        "Devices with a pace that were forgotten although their last pushes still count, because there are too many: they may"
          + " get more than their pace.")
    case .openRecords:
      .gauge(
        "martlet_sender_incomplete_offsets", "Records taken and not complete, over all partitions.")
    case .completedRuns:
      .gauge(
        "martlet_sender_completed_runs",
        "Stretches of complete offsets above the committed ones, over all partitions.")
    case .oldestOpenMilliseconds:
      .gauge(
        "martlet_sender_committed_offset_age_seconds", isMilliseconds: true, merge: .highest,
        "How long the oldest incomplete record of any partition has kept its committed offset from moving."
      )
    case .widestSpan:
      .gauge(
        "martlet_sender_offset_span", merge: .highest,
        "Offsets between the oldest incomplete record and the newest, in the partition where that is most."
      )
    case .partitionsPaused:
      .gauge(
        "martlet_sender_partitions_paused",
        "Partitions from which nothing is taken because too much of them is incomplete.")
    }
  }

  private static let retries = Metric(
    "martlet_sender_retries_total", .counter, labels: ["cause"], bound: "3",
    "Attempts after the first one: sent again at once because APNs had certainly not processed it (unprocessed) or"
      + " may have (ambiguous), or moved to a retry topic (retry_topic).")
  private static let connectionFailures = Metric(
    "martlet_sender_connection_failures_total", .counter, labels: ["cause"], bound: "3",
    event: SenderLog.connectionLost,
    "Connections that ended otherwise than by our own decision (lost), that were not ready within 10 s or"
      + " silent when another address was (connect_timeout), or that did not answer a PING (silent)."
  )
}

extension Outcome {
  /// The counter of this outcome.
  var counter: SenderCounter {
    switch self {
    case .delivered: .delivered
    case .rejected: .rejected
    case .expired: .expired
    case .suppressed: .suppressed
    case .deduplicated: .deduplicated
    case .deadLettered: .deadLettered
    case .cancelled: .cancelled
    // The last is none of a push (`Outcome.ofPushes`); to trap on it would cost every push a comparison.
    case .superseded, .addressed: .superseded
    }
  }
}
