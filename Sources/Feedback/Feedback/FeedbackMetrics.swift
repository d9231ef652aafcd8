// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// What the feedback service has on `/metrics`.
public enum FeedbackMetrics {
  static let answers = Metric(
    "martlet_feedback_answers_total", .counter,
    "Answers of APNs about device tokens that were read.")
  static let verdicts = Metric(
    "martlet_feedback_verdicts_total", .counter, labels: ["verdict"], bound: "6",
    "Answers by verdict: the token is invalid (invalidated); the answer is older than the registration or not about the"
      + " token (kept); it may be a mistake of ours (suspected); APNs reported the token as bad on two days (confirmed);"
      + " it is one of a wave, and the token stays valid although it was counted as invalidated (held); its wave was"
      + " released, and the token is invalid (released)."
  )
  static let registrations = Metric(
    "martlet_feedback_registrations_total", .counter, "Registrations and removals of devices.")
  static let unknownZones = Metric(
    "martlet_feedback_unknown_zones_total", .counter,
    event: "a registration names a time zone that does not exist here",
    "Registrations whose time_zone is no name of the IANA database on this host: campaigns by local time send to them by"
      + " their own time_zone.")
  static let forgotten = Metric(
    "martlet_feedback_forgotten_total", .counter,
    "Devices that were forgotten: tombstones of push.devices.")
  static let waves = Metric(
    "martlet_feedback_bad_token_waves_total", .counter,
    event: "APNs reports unusually many bad device tokens; none of them is recorded as invalid",
    "Waves: times that an abnormal number of an app's tokens was reported as bad or unregistered. Their answers make no"
      + " token invalid until the wave is decided (martlet tokens waves)."
  )
  static let withdrawn = Metric(
    "martlet_feedback_withdrawn_total", .counter,
    "Invalid tokens that became valid again because abnormally many answers followed.")
  static let revived = Metric(
    "martlet_feedback_revived_total", .counter,
    "Invalid tokens that became valid because of a later registration.")
  static let deadLetters = Metric(
    "martlet_feedback_dead_letters_total", .counter, "Records that became dead letters.")
  static let published = Metric(
    "martlet_feedback_published_total", .counter,
    "Records of invalid tokens that Kafka has acknowledged.")
  static let databaseRetries = Metric(
    "martlet_feedback_database_retries_total", .counter,
    event: "cannot write to the database; retrying",
    "Transactions that the database refused and that are tried again.")
  static let databaseFailing = Metric(
    "martlet_feedback_database_failing", .gauge,
    event: "cannot write to the database; retrying",
    "1 or more while the database refuses a transaction that is tried again; nothing is read meanwhile."
  )
  static let databaseLog = Metric(
    "martlet_feedback_database_log_bytes", .gauge, unit: .bytes, merge: .highest,
    "Size of the database's write-ahead log (SQLite's file -wal; 0 with PostgreSQL). It is cut at 64 MiB; one that grows"
      + " further is held by a program that reads the database in one long transaction.")
  static let restores = Metric(
    "martlet_feedback_restores_total", .counter,
    event: "rebuilding the database from the topics; judging starts when it is complete",
    "Times that the database was rebuilt from the topics.")
  static let receiptsKept = Metric(
    "martlet_feedback_receipts_kept_total", .counter,
    "Outcomes of notifications that were written to the database (--keep-receipts).")
  static let receiptsUnusable = Metric(
    "martlet_feedback_receipts_unusable_total", .counter,
    "Lines of the receipts topic that are no receipt and were not kept.")
  static let receiptsRemoved = Metric(
    "martlet_feedback_receipts_removed_total", .counter,
    "Outcomes of notifications that were removed from the database because their time was over.")
  static let receiptsForgotten = Metric(
    "martlet_feedback_receipts_forgotten_total", .counter,
    "Outcomes of notifications that were removed from the database because their device was forgotten."
  )
  static let partitions = Metric(
    "martlet_feedback_partitions_assigned", .gauge,
    "Partitions that the group has given to this process.")

  static let backlog = Metric(
    "martlet_feedback_backlog_seconds", .gauge, unit: .seconds, merge: .highest,
    "Age of the oldest record that was taken and is not complete, since it was written; 0 without one."
  )
  static let devices = Metric(
    "martlet_feedback_devices", .gauge, labels: ["state"], bound: "4",
    "Rows of the database of device tokens: valid, removed by the application, invalid, and those of them that APNs has"
      + " reported as bad since their registration (suspected). Looked up every minute;"
      + " all processes with one database count the same rows.")

  static let wavesHeld = Metric(
    "martlet_feedback_waves_held", .gauge,
    "Waves that hold answers and that nobody has decided (martlet tokens waves). Looked up"
      + " every minute; all processes with one database count the same waves.")

  public static let all = [
    answers, verdicts, registrations, unknownZones, forgotten, waves, withdrawn, revived,
    deadLetters, published,
    databaseRetries,
    databaseFailing, databaseLog, restores, receiptsKept, receiptsUnusable, receiptsRemoved,
    receiptsForgotten,
    partitions, backlog,
    devices, wavesHeld,
  ]
}

extension FeedbackCounter {
  var series: MetricSeries? {
    switch self {
    case .feedback: MetricSeries(FeedbackMetrics.answers)
    case .devices: MetricSeries(FeedbackMetrics.registrations)
    case .unknownZones: MetricSeries(FeedbackMetrics.unknownZones)
    case .forgotten: MetricSeries(FeedbackMetrics.forgotten)
    case .invalidated: MetricSeries(FeedbackMetrics.verdicts, ["invalidated"])
    case .kept: MetricSeries(FeedbackMetrics.verdicts, ["kept"])
    case .suspected: MetricSeries(FeedbackMetrics.verdicts, ["suspected"])
    case .confirmed: MetricSeries(FeedbackMetrics.verdicts, ["confirmed"])
    case .held: MetricSeries(FeedbackMetrics.verdicts, ["held"])
    case .released: MetricSeries(FeedbackMetrics.verdicts, ["released"])
    case .withdrawn: MetricSeries(FeedbackMetrics.withdrawn)
    case .badTokenWaves: MetricSeries(FeedbackMetrics.waves)
    case .revived: MetricSeries(FeedbackMetrics.revived)
    case .deadLettered: MetricSeries(FeedbackMetrics.deadLetters)
    case .published: MetricSeries(FeedbackMetrics.published)
    case .databaseRetries: MetricSeries(FeedbackMetrics.databaseRetries)
    case .databaseFailing: MetricSeries(FeedbackMetrics.databaseFailing)
    case .databaseLogBytes: MetricSeries(FeedbackMetrics.databaseLog)
    case .restores: MetricSeries(FeedbackMetrics.restores)
    case .receiptsKept: MetricSeries(FeedbackMetrics.receiptsKept)
    case .receiptsUnusable: MetricSeries(FeedbackMetrics.receiptsUnusable)
    case .receiptsRemoved: MetricSeries(FeedbackMetrics.receiptsRemoved)
    case .receiptsForgotten: MetricSeries(FeedbackMetrics.receiptsForgotten)
    case .partitionsAssigned: MetricSeries(FeedbackMetrics.partitions)
    case .backlogMilliseconds: MetricSeries(FeedbackMetrics.backlog, isMilliseconds: true)
    }
  }
}
