// SPDX-License-Identifier: Apache-2.0
public import Telemetry

public enum SimulatorLog: String, LogTable {
  case notAccepted = "cannot accept a connection"
  case notServed = "cannot serve a connection"
  case connectionLost = "connection lost"
  case notListening = "cannot listen again"

  public var level: LogLevel {
    switch self {
    case .notAccepted, .notServed, .notListening: .warning
    case .connectionLost: .info
    }
  }
}
