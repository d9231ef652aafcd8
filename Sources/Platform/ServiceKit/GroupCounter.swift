// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// What is counted about a process's membership in its group.
enum GroupCounter: Int, CounterKey {
  /// Times that the group had given this process's partitions away before it let go of them.
  case assignmentsLost
  /// Times that partitions that were assigned could not be started; retried until they can.
  case beginningsFailed
  /// Times that this process joined its group again with a new client, because its old one had lost its place.
  case rejoined

  var series: MetricSeries? {
    switch self {
    case .assignmentsLost: MetricSeries(KafkaMetrics.assignmentsLost)
    case .beginningsFailed: MetricSeries(KafkaMetrics.beginningsFailed)
    case .rejoined: MetricSeries(KafkaMetrics.rejoined)
    }
  }
}
