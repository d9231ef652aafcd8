// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The log events of ingest.
public enum IngestLog: String, LogTable {
  case kafkaError = "Kafka reported an error"
  case tokensNotRead = "invalid tokens not read yet; starting without them"
  case tokensWithoutRoom =
    "more invalid and removed tokens than --max-invalid-tokens; pushes to the others are sent"
  case tooLarge = "a notification is too large for its topic and became a dead letter"
  case noCampaignTopic =
    "no topic of campaign requests; campaigns address nobody until it is created and this process restarted"
  case noScheduleTopic =
    "no topic of the schedule; requests for later or to users become dead letters until it is created"

  public var level: LogLevel {
    switch self {
    case .tooLarge: .error
    case .kafkaError, .tokensNotRead, .tokensWithoutRoom, .noCampaignTopic, .noScheduleTopic:
      .warning
    }
  }
}
