// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The metrics that every program has on `/metrics`.
public enum ProgramMetrics: Int, MetricTable {
  case buildInfo, ready, notReady, unacknowledged, heartbeat, cpu, resident, virtual, openFiles
  case maxFiles, startTime

  public var row: MetricRow {
    switch self {
    case .buildInfo:
      .sampled(
        "martlet_build_info", .gauge, labels: ["program", "version", "commit"], bound: "1",
        merge: .highest, "1, with the program, its release and its commit as labels.")
    case .ready:
      .sampled(
        "martlet_ready", .gauge, merge: .lowest, event: ServiceKitLog.ready,
        "1 while /readyz answers 200: the process is ready.")
    case .notReady:
      .sampled(
        "martlet_not_ready", .gauge, labels: ["condition"],
        bound: "\(StatusBoard.conditions.count)",
        "1 while a condition is not met without which /readyz answers 503: start, partitions, kafka, rights, writes,"
          + " provider-tokens, database, devices, stop.")
    case .unacknowledged:
      .sampled(
        "martlet_kafka_unacknowledged_seconds", .gauge, merge: .highest,
        event: ServiceKitLog.recordsUnacknowledged,
        "How long the oldest record that the process has written has waited for Kafka's acknowledgement; 0 without one. From"
          + " \(StatusBoard.writePatience / 1_000) s on the process is not ready (writes).")
    case .heartbeat:
      .sampled(
        "martlet_heartbeat_timestamp_seconds", .gauge, labels: ["thread"], bound: "loops + 2",
        "When a thread last began a turn, as Unix time.")
    case .cpu:
      .sampled("process_cpu_seconds_total", .counter, "Processor time that the process has used.")
    case .resident:
      .sampled("process_resident_memory_bytes", .gauge, "Memory of the process in RAM.")
    case .virtual: .sampled("process_virtual_memory_bytes", .gauge, "Address space of the process.")
    case .openFiles: .sampled("process_open_fds", .gauge, "Open file descriptors.")
    case .maxFiles:
      .sampled("process_max_fds", .gauge, "File descriptors that the process may have open.")
    case .startTime:
      .sampled("process_start_time_seconds", .gauge, "When the process started, as Unix time.")
    }
  }
}

/// The metrics that every program that uses Kafka may have on `/metrics`.
public enum KafkaMetrics {
  public static let all =
    ProducerCounter.all + RetentionCounter.all + CrashCounter.all + GroupCounter.all
    + GroupMetrics.all + HoldCounter.all
}

/// How a process stands in its consumer group (`GroupFigures`).
enum GroupMetrics: Int, MetricTable {
  case partitionsExpected, partitionsAssigned, lag, heldByTransaction, commit, commitMetadata

  var row: MetricRow {
    switch self {
    case .partitionsExpected:
      .sampled(
        "martlet_kafka_group_partitions_expected", .gauge, labels: ["group"], bound: "1",
        merge: .highest, "Partitions of all topics that this process's consumer group reads.")
    case .partitionsAssigned:
      .sampled(
        "martlet_kafka_group_partitions_assigned", .gauge, labels: ["group"], bound: "1",
        event: ServiceKitLog.partitionsAssigned,
        "Those of them that the group has given to this process.")
    case .lag:
      .sampled(
        "martlet_kafka_group_lag_records", .gauge, labels: ["group", "topic"],
        bound: "topics of the group",
        "Records above the committed offsets of this process's partitions, asked of Kafka every 10 s. Missing for a"
          + " topic after a minute without Kafka's answer."
      )
    case .heldByTransaction:
      .sampled(
        "martlet_kafka_group_held_by_transaction_seconds", .gauge, labels: ["group"], bound: "1",
        merge: .highest, event: ServiceKitLog.openTransaction,
        "How long a transaction that another producer has left open has held back records of this process's partitions; 0"
          + " if none does. They are not part of the lag.")
    case .commit:
      .sampled(
        "martlet_kafka_commit_seconds", .histogram,
        "Time from an offset commit to the coordinator's answer, if it takes the commit.")
    case .commitMetadata:
      .sampled(
        "martlet_kafka_commit_metadata_bytes", .gauge, merge: .highest,
        "Longest offset map in the last commit; Kafka takes 4,096 bytes, and what does not fit is sent again after a crash."
      )
    }
  }
}
