// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
public import Telemetry

/// What the scheduler counts. Every record of the schedule ends as one that counts, or as one that is of no consequence.
enum SchedulerCounter: Int, CounterKey {
  /// Requests that were written to the database.
  case scheduled
  /// Requests that Kafka has on the topic of requests.
  case released
  /// Requests that a cancellation ended.
  case cancelled
  /// Requests that ingest has handed back because its clock said that they were early.
  case handedBack
  /// Records that were written again because a later record of no consequence stood behind them.
  case restored
  /// Records that could not be read, each a dead letter.
  case unreadable
  /// Transactions that the database refused and that are tried again.
  case databaseRetries
  /// 1 while the database refuses.
  case databaseFailing
  /// How often a partition was read again from its first record.
  case rebuilds
  /// Entries of the database that were written to a topic that was made anew.
  case writtenAgain
  /// The size of SQLite's log.
  case databaseLogBytes
  /// Requests that wait in the database, of this process's partitions.
  case entries
  /// Entries in memory.
  case loaded
  /// For how long the oldest request in memory has been due.
  case lateMilliseconds
  case partitionsAssigned
  /// Requests to people that were released to devices of theirs.
  case addressed
  /// Those whose users had no device.
  case withoutDevice
  /// Devices that requests to people were released to.
  case devicesAddressed
  /// Requests to people that are due and whose devices are not known.
  case peopleWaiting
  /// 1 while devices cannot be looked up.
  case peopleFailing
  /// Update tokens that got the last state of their activity after it was sent.
  case lateTokens
  /// Devices that campaigns have addressed.
  case campaignDevices
  /// Campaigns that are not over.
  case campaigns
  case campaignsStopped
  /// Starts with the name of a campaign that exists.
  case campaignsStartedAgain
  /// Devices of campaigns by local time whose zone does not exist here.
  case withoutZone

  var kind: CounterKind {
    switch self {
    case .databaseFailing, .databaseLogBytes, .entries, .loaded, .lateMilliseconds,
      .partitionsAssigned,
      .peopleWaiting, .peopleFailing, .campaigns:
      .gauge
    default: .total
    }
  }

  var series: MetricSeries? {
    switch self {
    case .scheduled: MetricSeries(SchedulerMetrics.requests, ["scheduled"])
    case .released: MetricSeries(SchedulerMetrics.requests, ["released"])
    case .cancelled: MetricSeries(SchedulerMetrics.requests, ["cancelled"])
    case .handedBack: MetricSeries(SchedulerMetrics.requests, ["handed_back"])
    case .restored: MetricSeries(SchedulerMetrics.restored)
    case .unreadable: MetricSeries(SchedulerMetrics.unreadable)
    case .databaseRetries: MetricSeries(SchedulerMetrics.databaseRetries)
    case .databaseFailing: MetricSeries(SchedulerMetrics.databaseFailing)
    case .rebuilds: MetricSeries(SchedulerMetrics.rebuilds)
    case .writtenAgain: MetricSeries(SchedulerMetrics.writtenAgain)
    case .databaseLogBytes: MetricSeries(SchedulerMetrics.databaseLog)
    case .entries: MetricSeries(SchedulerMetrics.entries)
    case .loaded: MetricSeries(SchedulerMetrics.loaded)
    case .lateMilliseconds: MetricSeries(SchedulerMetrics.late, isMilliseconds: true)
    case .partitionsAssigned: MetricSeries(SchedulerMetrics.partitions)
    case .addressed: MetricSeries(SchedulerMetrics.people, ["addressed"])
    case .withoutDevice: MetricSeries(SchedulerMetrics.people, ["no_device"])
    case .devicesAddressed: MetricSeries(SchedulerMetrics.peopleDevices)
    case .peopleWaiting: MetricSeries(SchedulerMetrics.peopleWaiting)
    case .peopleFailing: MetricSeries(SchedulerMetrics.peopleFailing)
    case .lateTokens: MetricSeries(SchedulerMetrics.lateTokens)
    case .campaignDevices: MetricSeries(SchedulerMetrics.campaignDevices)
    case .campaigns: MetricSeries(SchedulerMetrics.campaigns)
    case .campaignsStopped: MetricSeries(SchedulerMetrics.campaignsStopped)
    case .campaignsStartedAgain: MetricSeries(SchedulerMetrics.campaignsStartedAgain)
    case .withoutZone: MetricSeries(SchedulerMetrics.withoutZone)
    }
  }
}

/// What the scheduler has on `/metrics`.
public enum SchedulerMetrics {
  static let requests = Metric(
    "martlet_scheduler_requests_total", .counter, labels: ["event"], bound: "4",
    "Requests by event: read into the database (scheduled), produced to push.requests at their time (released), ended by"
      + " a cancellation (cancelled), handed back by an ingest process by whose clock they were early (handed_back)."
  )
  static let lateness = Metric(
    "martlet_scheduler_lateness_seconds", .histogram, unit: .seconds,
    "Time from a request's send_at to Kafka's acknowledgement of its release.")
  static let late = Metric(
    "martlet_scheduler_late_seconds", .gauge, unit: .seconds, merge: .highest,
    "For how long the oldest request in memory that Kafka does not have yet has been due; 0 without one."
  )
  static let entries = Metric(
    "martlet_scheduler_entries", .gauge,
    "Requests that wait for their time, in the partitions of this process. Counted every half minute."
  )
  static let loaded = Metric(
    "martlet_scheduler_loaded", .gauge, "Requests in memory: due within seconds, or under way.")
  static let restored = Metric(
    "martlet_scheduler_restored_total", .counter,
    "Records of push.schedule that were written again, because a record without consequence came behind them."
  )
  static let unreadable = Metric(
    "martlet_scheduler_unreadable_total", .counter,
    event: "a record of the schedule cannot be read; it becomes a dead letter",
    "Records of push.schedule that cannot be read; each becomes a dead letter.")
  static let databaseRetries = Metric(
    "martlet_scheduler_database_retries_total", .counter,
    event: "the database does not answer; retrying",
    "Transactions that the database refused and that are tried again.")
  static let databaseFailing = Metric(
    "martlet_scheduler_database_failing", .gauge, event: "the database does not answer; retrying",
    "1 while the database refuses; nothing further is read or loaded meanwhile.")
  static let rebuilds = Metric(
    "martlet_scheduler_rebuilds_total", .counter,
    event: "the database lacks a part of the schedule; reading it from the topic",
    "Partitions that were read again from their first record because the database lacked a part.")
  static let writtenAgain = Metric(
    "martlet_scheduler_written_again_total", .counter,
    event:
      "the schedule's topic was made anew or cut; what the database has is written to it again",
    "Entries of the database that were written to push.schedule again because that was made anew, or cut."
  )
  static let databaseLog = Metric(
    "martlet_scheduler_database_log_bytes", .gauge, unit: .bytes, merge: .highest,
    "Size of the database's write-ahead log (SQLite's file -wal; 0 with PostgreSQL). It is cut at 64 MiB; one that grows"
      + " further is held by a program that reads the database in one long transaction.")
  static let partitions = Metric(
    "martlet_scheduler_partitions_assigned", .gauge,
    "Partitions that the group has given to this process.")
  static let people = Metric(
    "martlet_scheduler_people_requests_total", .counter, labels: ["result"], bound: "2",
    "Requests to users that were released, by result: to devices of theirs (addressed), or without any (no_device)."
  )
  static let peopleDevices = Metric(
    "martlet_scheduler_people_devices_total", .counter,
    "Devices to which requests to users were released.")
  static let peopleWaiting = Metric(
    "martlet_scheduler_people_waiting", .gauge,
    "Requests to users that are due and whose devices have not been looked up yet.")
  static let peopleFailing = Metric(
    "martlet_scheduler_people_failing", .gauge,
    event: "the devices of users cannot be looked up; their requests wait",
    "1 while the database of device tokens does not answer, or has not been filled by martlet-feedback."
  )
  static let lateTokens = Metric(
    "martlet_scheduler_late_tokens_total", .counter,
    "Update tokens of activities that were registered after the last state was sent, and got it then."
  )

  static let campaignDevices = Metric(
    "martlet_scheduler_campaign_devices_total", .counter,
    "Devices that campaigns have addressed: Kafka has the requests to them.")
  static let campaigns = Metric(
    "martlet_scheduler_campaigns", .gauge,
    "Campaigns of this process's partitions that are not over.")
  static let campaignsStopped = Metric(
    "martlet_scheduler_campaigns_stopped_total", .counter, event: "a campaign has stopped itself",
    "Campaigns that stopped themselves, because of the outcomes of their pushes.")
  static let campaignsStartedAgain = Metric(
    "martlet_scheduler_campaigns_started_again_total", .counter,
    event: "a campaign of this name exists; another start of it changes nothing",
    "Starts of campaigns with the name of one that exists; they change nothing.")

  static let withoutZone = Metric(
    "martlet_scheduler_campaign_devices_without_zone_total", .counter,
    event: "devices of a campaign name time zones that do not exist here: they go by its own",
    "Devices of campaigns by local time whose registration names a time zone that does not exist on this host, counted when"
      + " a campaign looks its zones up.")

  /// What tells one campaign from others.
  private static let own = ["campaign", "app", "environment"]
  static let campaignState = Metric(
    "martlet_scheduler_campaign_state", .gauge, labels: own + ["state", "reason"],
    bound: "100",
    "1 for each campaign of this process's partitions that is not over, or ended within the hour, with its state, and why"
      + " it has stopped itself or who cancelled it. At most 100; so also those that follow.")
  static let campaignAudience = Metric(
    "martlet_scheduler_campaign_audience", .gauge, labels: own, bound: "100",
    "Devices of a campaign's audience when it was counted; absent before.")
  static let campaignAddressed = Metric(
    "martlet_scheduler_campaign_addressed", .gauge, labels: own, bound: "100",
    "Devices of a campaign's audience for which Kafka has the request.")
  static let campaignOutcomes = Metric(
    "martlet_scheduler_campaign_outcomes", .gauge, labels: own + ["outcome"],
    bound: "100 × \(Outcome.allCases.count + 1) outcomes",
    "Pushes of a campaign by their outcome, as its owner has counted them from push.receipts; other for what is none."
  )
  static let campaignRate = Metric(
    "martlet_scheduler_campaign_rate", .gauge, labels: own + ["of"], bound: "200",
    "Devices of a campaign per second, over half a minute: those that were addressed (addressed), and those that got an"
      + " outcome (outcomes).")
  static let campaignLeft = Metric(
    "martlet_scheduler_campaign_left_seconds", .gauge, unit: .seconds, labels: own,
    bound: "100",
    "Time until every device of a campaign has its outcome, at this rate; absent while nothing moves."
  )
  static let campaignsUnlisted = Metric(
    "martlet_scheduler_campaigns_unlisted", .gauge,
    "Campaigns that the metrics with the label campaign leave out, because 100 others are there.")

  public static let all = [
    requests, lateness, late, entries, loaded, restored, unreadable, databaseRetries,
    databaseFailing, databaseLog, rebuilds, writtenAgain, partitions, people, peopleDevices,
    peopleWaiting, peopleFailing, lateTokens, campaignDevices, campaigns, campaignsStopped,
    campaignsStartedAgain, withoutZone, campaignState,
    campaignAudience, campaignAddressed, campaignOutcomes, campaignRate, campaignLeft,
    campaignsUnlisted,
  ]
}
