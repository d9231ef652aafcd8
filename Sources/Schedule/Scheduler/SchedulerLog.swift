// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum SchedulerLog: String, LogTable {
  case receiptsNotRead = "cannot read receipts; retrying"
  case receiptsMissed = "receipts were removed before campaigns counted them"
  case receiptsBeginLate =
    "the receipts kept begin after a campaign's start; its counts may be too low"
  case audienceUnknown = "an audience cannot be looked up; campaigns wait"
  case tokenTopicNotRead = "a topic of device tokens cannot be read; its campaign waits"
  case audienceKnown = "audiences can be looked up again"
  case tokenTopicRead = "a topic of device tokens can be read again"
  case linesSkipped = "token topic contains lines that are not device tokens; skipped"
  case campaignGoesOn = "a campaign goes on"
  case trialAddressed = "the first part of a campaign is addressed"
  case campaignDone = "a campaign is done"
  case campaignCancelled = "a campaign was cancelled"
  case campaignStopped = "a campaign has stopped itself"
  case campaignNotice = "notice for the author of a campaign"
  case usersUnknown = "the devices of users cannot be looked up; their requests wait"
  case usersKnown = "the devices of users can be looked up again"
  case topicNotChecked =
    "cannot check whether the schedule's topic was recreated; assuming that it was not"
  case topicRecreated =
    "schedule topic recreated or truncated; writing the database's entries to it again"
  case partitionGone =
    "the schedule's topic has fewer partitions; writing the database's entries of this one to the others"
  case recordsNotRead = "cannot read records; retrying"
  case recordUnreadable = "a record of the schedule cannot be read; it becomes a dead letter"
  case campaignNameUsed = "campaign name in use; the second start is ignored"
  case requestEarly =
    "ingest returned a request as early: its clock is more than a second behind this one; synchronize both"
  case databaseIncomplete = "the database lacks a part of the schedule; reading it from the topic"
  case clockMovedBack = "clock moved back; requests that waited by it get their own times again"
  case databaseAnswers = "the database answers again"
  case databaseSilent = "the database does not answer; retrying"
  case localTime = "a campaign goes by local time"
  case zonesOld = "the time zone database is old: renew the package tzdata"
  case zonesUnknown = "unknown time zones among a campaign's devices; using the campaign's own"

  public var level: LogLevel {
    switch self {
    case .campaignStopped, .usersUnknown, .topicRecreated, .recordUnreadable, .requestEarly: .error
    case .receiptsNotRead, .receiptsMissed, .receiptsBeginLate, .audienceUnknown,
      .tokenTopicNotRead, .linesSkipped, .campaignCancelled, .campaignNotice, .topicNotChecked,
      .partitionGone, .recordsNotRead, .campaignNameUsed, .databaseIncomplete, .clockMovedBack,
      .databaseSilent, .zonesOld, .zonesUnknown:
      .warning
    case .audienceKnown, .tokenTopicRead, .campaignGoesOn, .trialAddressed, .campaignDone,
      .usersKnown, .databaseAnswers, .localTime:
      .info
    }
  }
}
