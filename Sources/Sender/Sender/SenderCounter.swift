// SPDX-License-Identifier: Apache-2.0
import Credentials
public import Gateways
public import ServiceKit
public import Telemetry

extension SenderCounter: CounterKey {
  public var kind: CounterKind {
    switch self {
    case .inFlight, .waiting, .openConnections, .waitingForPace: .gauge
    case .openRecords, .completedRuns, .partitionsPaused: .gauge
    case .oldestOpenMilliseconds, .widestSpan: .peak
    default: .total
    }
  }
}
