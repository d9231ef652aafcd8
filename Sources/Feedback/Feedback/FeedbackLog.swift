// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum FeedbackLog: String, LogTable {
  case notWritten = "cannot write to the database; retrying"
  case databaseAccepts = "the database accepts records again"
  case databaseBehind =
    "the database is behind the topics; nothing is looked up in it until it is complete"
  case building = "building the database from the topics; judging starts when it is complete"
  case rebuilding = "rebuilding the database from the topics; judging starts when it is complete"
  case topicNotBegun = "cannot begin to read a topic; retrying"
  case topicNotRead = "cannot read a topic; retrying"
  case rebuiltElsewhere = "another process is rebuilding the database; reading the missing records"
  case databaseComplete = "the database is complete"
  case recordsWithdrawn = "unacknowledged records withdrawn from the producer"
  case recordsNotRead = "cannot read records; retrying"
  case zoneUnknown = "a registration names a time zone that does not exist here"
  case badTokenWave =
    "APNs reports unusually many bad device tokens; none of them is recorded as invalid"
  case waveConfirmed = "wave of invalid tokens confirmed: its devices did not register again"

  public var level: LogLevel {
    switch self {
    case .topicNotBegun, .badTokenWave: .error
    case .notWritten, .rebuilding, .topicNotRead, .rebuiltElsewhere, .recordsNotRead, .zoneUnknown,
      .waveConfirmed:
      .warning
    case .databaseAccepts, .databaseBehind, .building, .databaseComplete, .recordsWithdrawn: .info
    }
  }
}
