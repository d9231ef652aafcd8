// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// What the feedback service counts, and has on `/metrics`.
public enum FeedbackMetrics: Int, MetricTable {
  case feedback, invalidated, kept, suspected, confirmed, held, released, devices, unknownZones
  case forgotten, badTokenWaves, withdrawn, revived, deadLettered, published, databaseRetries
  case databaseFailing, databaseLogBytes, restores, receiptsKept, receiptsUnusable
  case receiptsRemoved, receiptsForgotten, partitionsAssigned, backlogMilliseconds, deviceRows
  case wavesHeld

  public var row: MetricRow {
    switch self {
    case .feedback:
      .counter(
        "martlet_feedback_answers_total", "Answers of APNs about device tokens that were read.")
    case .invalidated: .counted(Self.verdicts, "invalidated")
    case .kept: .counted(Self.verdicts, "kept")
    case .suspected: .counted(Self.verdicts, "suspected")
    case .confirmed: .counted(Self.verdicts, "confirmed")
    case .held: .counted(Self.verdicts, "held")
    case .released: .counted(Self.verdicts, "released")
    case .devices:
      .counter("martlet_feedback_registrations_total", "Registrations and removals of devices.")
    case .unknownZones:
      .counter(
        "martlet_feedback_unknown_zones_total", event: FeedbackLog.zoneUnknown,
        "Registrations whose time_zone is no name of the IANA database on this host: campaigns by local time send to them by"
          + " their own time_zone.")
    case .forgotten:
      .counter(
        "martlet_feedback_forgotten_total",
        "Devices that were forgotten: tombstones of push.devices.")
    case .badTokenWaves:
      .counter(
        "martlet_feedback_bad_token_waves_total", event: FeedbackLog.badTokenWave,
        "Waves: times that an abnormal number of an app's tokens was reported as bad or unregistered. Their answers make no"
          + " token invalid until the wave is decided (martlet tokens waves).")
    case .withdrawn:
      .counter(
        "martlet_feedback_withdrawn_total",
        "Invalid tokens that became valid again because abnormally many answers followed.")
    case .revived:
      .counter(
        "martlet_feedback_revived_total",
        "Invalid tokens that became valid because of a later registration.")
    case .deadLettered:
      .counter("martlet_feedback_dead_letters_total", "Records that became dead letters.")
    case .published:
      .counter(
        "martlet_feedback_published_total", "Records of invalid tokens that Kafka has acknowledged."
      )
    case .databaseRetries:
      .counter(
        "martlet_feedback_database_retries_total", event: FeedbackLog.notWritten,
        "Transactions that the database refused and that are tried again.")
    case .databaseFailing:
      .gauge(
        "martlet_feedback_database_failing", event: FeedbackLog.notWritten,
        "1 or more while the database refuses a transaction that is tried again; nothing is read meanwhile."
      )
    case .databaseLogBytes:
      .gauge(
        "martlet_feedback_database_log_bytes", merge: .highest,
        "Size of the database's write-ahead log (SQLite's file -wal; 0 with PostgreSQL). It is cut at 64 MiB; one that grows"
          + " further is held by a program that reads the database in one long transaction.")
    case .restores:
      .counter(
        "martlet_feedback_restores_total", event: FeedbackLog.rebuilding,
        "Times that the database was rebuilt from the topics.")
    case .receiptsKept:
      .counter(
        "martlet_feedback_receipts_kept_total",
        "Outcomes of notifications that were written to the database (--keep-receipts).")
    case .receiptsUnusable:
      .counter(
        "martlet_feedback_receipts_unusable_total",
        "Lines of the receipts topic that are no receipt and were not kept.")
    case .receiptsRemoved:
      .counter(
        "martlet_feedback_receipts_removed_total",
        "Outcomes of notifications that were removed from the database because their time was over."
      )
    case .receiptsForgotten:
      .counter(
        "martlet_feedback_receipts_forgotten_total",
        "Outcomes of notifications that were removed from the database because their device was forgotten."
      )
    case .partitionsAssigned:
      .gauge(
        "martlet_feedback_partitions_assigned",
        "Partitions that the group has given to this process.")
    case .backlogMilliseconds:
      .gauge(
        "martlet_feedback_backlog_seconds", isMilliseconds: true, merge: .highest,
        "Age of the oldest record that was taken and is not complete, since it was written; 0 without one."
      )
    case .deviceRows:
      .sampled(
        "martlet_feedback_devices", .gauge, labels: ["state"], bound: "4",
        "Rows of the database of device tokens: valid, removed by the application, invalid, and those of them that APNs has"
          + " reported as bad since their registration (suspected). Looked up every minute;"
          + " all processes with one database count the same rows.")
    case .wavesHeld:
      .sampled(
        "martlet_feedback_waves_held", .gauge,
        "Waves that hold answers and that nobody has decided (martlet tokens waves). Looked up"
          + " every minute; all processes with one database count the same waves.")
    }
  }

  private static let verdicts = Metric(
    "martlet_feedback_verdicts_total", .counter, labels: ["verdict"], bound: "6",
    "Answers by verdict: the token is invalid (invalidated); the answer is older than the registration or not about the"
      + " token (kept); it may be a mistake of ours (suspected); APNs reported the token as bad on two days (confirmed);"
      + " it is one of a wave, and the token stays valid although it was counted as invalidated (held); its wave was"
      + " released, and the token is invalid (released).")
}
