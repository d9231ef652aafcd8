// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum OperatorLog: String, LogTable {
  case audit
  case requestRefused = "Kafka refuses a canary's request"
  case canaryDelivered = "canary delivered"
  case canaryFailed = "canary failed; martlet trace shows how far it came"
  case console
  case tokenUnreadable = "cannot read a provider token"

  public var level: LogLevel {
    switch self {
    case .requestRefused, .tokenUnreadable: .error
    case .canaryFailed: .warning
    case .audit, .console: .info
    case .canaryDelivered: .debug
    }
  }
}
