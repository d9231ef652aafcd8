// SPDX-License-Identifier: Apache-2.0
import Telemetry

/// What is counted about a process's membership in its group, and about its commits.
enum GroupCounter: Int, MetricTable {
  case commitsUnanswered, commitsRefused, assignmentsLost, beginningsFailed, rejoined

  var row: MetricRow {
    switch self {
    case .commitsUnanswered:
      .counter(
        "martlet_kafka_commits_unanswered_total",
        event: ServiceKitLog.commitUnanswered,
        "Offset commits that the group's coordinator did not answer in time; they are sent again.")
    case .commitsRefused:
      .counter(
        "martlet_kafka_commits_refused_total", event: ServiceKitLog.commitsRefused,
        "Offsets that Kafka refused to commit, one for each partition of a commit; they are sent again."
      )
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
