// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum APILog: String, LogTable {
  case requestAccepted = "HTTP request accepted"
  case requestRefused = "Kafka refuses a request"
  case listening = "HTTP API"
  case devicesChanged = "devices changed"
  case campaignChanged = "a campaign was changed over HTTP"
  case keyRemoved = "API key removed; its campaigns and scheduled requests end"
  case certificateReloaded = "HTTPS certificate reloaded"
  case certificateInvalid = "invalid HTTPS certificate or key; keeping the previous one"
  case certificateExpired =
    "HTTPS certificate expired; clients refuse it until its file holds a renewed one"
  case certificateExpires =
    "HTTPS certificate expires soon; renew it, its file is read again when it changes"
  case keysReloaded = "API keys reloaded"
  case keysInvalid = "invalid API keys file; keeping the previous keys"
  case keyExpired = "an API key has expired; its requests are refused"
  case keyExpires = "an API key expires soon; martlet keys api makes another"
  case paceChanged = "a pace was changed over HTTP"
  case databaseAnswers = "the database answers again"
  case databaseSilent = "the database does not answer"

  public var level: LogLevel {
    switch self {
    case .requestRefused, .certificateInvalid, .certificateExpired, .keysInvalid, .keyExpired,
      .databaseSilent:
      .error
    case .keyRemoved, .certificateExpires, .keyExpires: .warning
    case .listening, .devicesChanged, .campaignChanged, .certificateReloaded, .keysReloaded,
      .paceChanged, .databaseAnswers:
      .info
    case .requestAccepted: .debug
    }
  }
}
