// SPDX-License-Identifier: Apache-2.0
import Contract
public import Telemetry

/// The scheduler's metrics. Every schedule record counts either as applied or as without effect.
public enum SchedulerMetrics: Int, MetricTable {
  case scheduled, released, cancelled, handedBack, lateness, lateMilliseconds, entries, loaded
  case restored, unreadable, databaseRetries, databaseFailing, databaseLogBytes, rebuilds
  case writtenAgain, partitionsAssigned, addressed, withoutDevice, devicesAddressed, peopleWaiting
  case peopleFailing, lateTokens, campaignDevices, campaigns, campaignsStopped
  case campaignsStartedAgain, withoutZone, campaignState, campaignAudience, campaignAddressed
  case campaignOutcomes, campaignRate, campaignLeft, campaignsUnlisted

  /// The labels that identify a campaign.
  private static let own = ["campaign", "app", "environment"]

  public var row: MetricRow {
    switch self {
    case .scheduled: .counted(Self.requests, "scheduled")
    case .released: .counted(Self.requests, "released")
    case .cancelled: .counted(Self.requests, "cancelled")
    case .handedBack: .counted(Self.requests, "handed_back")
    case .lateness:
      .sampled(
        "martlet_scheduler_lateness_seconds", .histogram,
        "Time from a request's send_at to Kafka's acknowledgement of its release.")
    case .lateMilliseconds:
      .gauge(
        "martlet_scheduler_late_seconds", isMilliseconds: true, merge: .highest,
        "For how long the oldest request in memory that Kafka does not have yet has been due; 0 without one."
      )
    case .entries:
      .gauge(
        "martlet_scheduler_entries",
        "Requests that wait for their time, in the partitions of this process. Counted every half minute."
      )
    case .loaded:
      .gauge("martlet_scheduler_loaded", "Requests in memory: due within seconds, or under way.")
    case .restored:
      .counter(
        "martlet_scheduler_restored_total",
        "Records of push.schedule that were written again, because a record without consequence came behind them."
      )
    case .unreadable:
      .counter(
        "martlet_scheduler_unreadable_total", event: SchedulerLog.recordUnreadable,
        "Records of push.schedule that cannot be read; each becomes a dead letter.")
    case .databaseRetries:
      .counter(
        "martlet_scheduler_database_retries_total", event: SchedulerLog.databaseSilent,
        "Transactions that the database refused and that are tried again.")
    case .databaseFailing:
      .gauge(
        "martlet_scheduler_database_failing", event: SchedulerLog.databaseSilent,
        "1 while the database refuses; nothing further is read or loaded meanwhile.")
    case .databaseLogBytes:
      .gauge(
        "martlet_scheduler_database_log_bytes", merge: .highest,
        "Size of the database's write-ahead log (SQLite's file -wal; 0 with PostgreSQL). It is cut at 64 MiB; one that grows"
          + " further is held by a program that reads the database in one long transaction.")
    case .rebuilds:
      .counter(
        "martlet_scheduler_rebuilds_total", event: SchedulerLog.databaseIncomplete,
        "Partitions that were read again from their first record because the database lacked a part."
      )
    case .writtenAgain:
      .counter(
        "martlet_scheduler_written_again_total", event: SchedulerLog.topicRecreated,
        "Entries of the database that were written to push.schedule again because that was made anew, or cut."
      )
    case .partitionsAssigned:
      .gauge(
        "martlet_scheduler_partitions_assigned",
        "Partitions that the group has given to this process.")
    case .addressed: .counted(Self.people, "addressed")
    case .withoutDevice: .counted(Self.people, "no_device")
    case .devicesAddressed:
      .counter(
        "martlet_scheduler_people_devices_total",
        "Devices to which requests to users were released.")
    case .peopleWaiting:
      .gauge(
        "martlet_scheduler_people_waiting",
        "Requests to users that are due and whose devices have not been looked up yet.")
    case .peopleFailing:
      .gauge(
        "martlet_scheduler_people_failing", event: SchedulerLog.usersUnknown,
        "1 while the database of device tokens does not answer, or has not been filled by martlet-feedback."
      )
    case .lateTokens:
      .counter(
        "martlet_scheduler_late_tokens_total",
        "Update tokens of activities that were registered after the last state was sent, and got it then."
      )
    case .campaignDevices:
      .counter(
        "martlet_scheduler_campaign_devices_total",
        "Devices that campaigns have addressed: Kafka has the requests to them.")
    case .campaigns:
      .gauge(
        "martlet_scheduler_campaigns", "Campaigns of this process's partitions that are not over.")
    case .campaignsStopped:
      .counter(
        "martlet_scheduler_campaigns_stopped_total", event: SchedulerLog.campaignStopped,
        "Campaigns that stopped themselves, because of the outcomes of their pushes.")
    case .campaignsStartedAgain:
      .counter(
        "martlet_scheduler_campaigns_started_again_total", event: SchedulerLog.campaignNameUsed,
        "Starts of campaigns with the name of one that exists; they change nothing.")
    case .withoutZone:
      .counter(
        "martlet_scheduler_campaign_devices_without_zone_total", event: SchedulerLog.zonesUnknown,
        "Devices of campaigns by local time whose registration names a time zone that does not exist on this host, counted when"
          + " a campaign looks its zones up.")
    case .campaignState:
      .sampled(
        "martlet_scheduler_campaign_state", .gauge, labels: Self.own + ["state", "reason"],
        bound: "100",
        "1 for each campaign of this process's partitions that is not over, or ended within the hour, with its state, and why"
          + " it has stopped itself, who cancelled it, or why it is done without some of its devices. At most 100; so"
          + " also those that follow.")
    case .campaignAudience:
      .sampled(
        "martlet_scheduler_campaign_audience", .gauge, labels: Self.own, bound: "100",
        "Devices of a campaign's audience when it was counted; absent before.")
    case .campaignAddressed:
      .sampled(
        "martlet_scheduler_campaign_addressed", .gauge, labels: Self.own, bound: "100",
        "Devices of a campaign's audience for which Kafka has the request.")
    case .campaignOutcomes:
      .sampled(
        "martlet_scheduler_campaign_outcomes", .gauge, labels: Self.own + ["outcome"],
        bound: "100 × \(Outcome.allCases.count + 1) outcomes",
        "Pushes of a campaign by their outcome, as its owner has counted them from push.receipts; other for what is none."
      )
    case .campaignRate:
      .sampled(
        "martlet_scheduler_campaign_rate", .gauge, labels: Self.own + ["of"], bound: "200",
        "Devices of a campaign per second, over half a minute: those that were addressed (addressed), and those that got an"
          + " outcome (outcomes).")
    case .campaignLeft:
      .sampled(
        "martlet_scheduler_campaign_left_seconds", .gauge, labels: Self.own, bound: "100",
        "Time until every device of a campaign has its outcome, at this rate; absent while nothing moves."
      )
    case .campaignsUnlisted:
      .sampled(
        "martlet_scheduler_campaigns_unlisted", .gauge,
        "Campaigns that the metrics with the label campaign leave out, because 100 others are there."
      )
    }
  }

  private static let requests = Metric(
    "martlet_scheduler_requests_total", .counter, labels: ["event"], bound: "4",
    "Requests by event: read into the database (scheduled), produced to push.requests at their time (released), ended by"
      + " a cancellation (cancelled), handed back by an ingest process by whose clock they were early (handed_back)."
  )
  private static let people = Metric(
    "martlet_scheduler_people_requests_total", .counter, labels: ["result"], bound: "2",
    "Requests to users that were released, by result: to devices of theirs (addressed), or without any (no_device)."
  )
}
