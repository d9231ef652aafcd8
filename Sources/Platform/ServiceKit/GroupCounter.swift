// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// What is counted about a process's membership in its group.
enum GroupCounter: Int, MetricTable {
  case assignmentsLost, beginningsFailed, rejoined

  var row: MetricRow {
    switch self {
    case .assignmentsLost:
      .counter(
        "martlet_kafka_assignments_lost_total", event: ServiceKitLog.partitionsRevoked,
        "Times that the group gave partitions away before this process had given them back.")
    case .beginningsFailed:
      .counter(
        "martlet_kafka_assignments_failed_total", event: ServiceKitLog.partitionsNotStarted,
        "Times that assigned partitions could not be started; retried until they can.")
    case .rejoined:
      .counter(
        "martlet_kafka_group_rejoins_total", event: ServiceKitLog.rejoining,
        "Times that a member with a name joined its group again with a new client, because its old one had lost its place."
      )
    }
  }
}
