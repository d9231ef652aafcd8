// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum WebhooksLog: String, LogTable {
  case endpoint
  case recordsNotRead = "cannot read records; retrying"
  case recordStrange = "a record is not one of its topic; not sent"
  case endpointGone = "endpoint returned 410 Gone; disabled until restart"
  case endpointFails = "the endpoint does not accept events; retrying"
  case endpointAccepts = "the endpoint accepts events again"
  case eventsTooOld = "events not accepted in time; writing a dead letter"

  public var level: LogLevel {
    switch self {
    case .endpointGone, .eventsTooOld: .error
    case .recordsNotRead, .endpointFails: .warning
    case .endpoint, .endpointAccepts: .info
    case .recordStrange: .debug
    }
  }
}
