// SPDX-License-Identifier: Apache-2.0
import Dispatch
import ServiceKit
package import Telemetry

extension SenderCounter: CounterKey {
  package var kind: CounterKind {
    switch self {
    case .inFlight, .waiting, .openConnections: .gauge
    case .openRecords, .completedRuns, .partitionsPaused: .gauge
    case .oldestOpenMilliseconds, .widestSpan: .peak
    default: .total
    }
  }
}
