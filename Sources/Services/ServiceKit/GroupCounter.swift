// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// What is counted about a process's membership in its group.
enum GroupCounter: Int, CounterKey {
  /// Times that the group had given this process's partitions away before it let go of them.
  case assignmentsLost
  /// Times that partitions that were assigned could not be started; retried until they can.
  case beginningsFailed

  var series: MetricSeries? {
    switch self {
    case .assignmentsLost: MetricSeries(KafkaMetrics.assignmentsLost)
    case .beginningsFailed: MetricSeries(KafkaMetrics.beginningsFailed)
    }
  }
}
