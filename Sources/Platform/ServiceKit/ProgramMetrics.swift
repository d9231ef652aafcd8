// SPDX-License-Identifier: Apache-2.0
public import Telemetry

/// The metrics that every program has on `/metrics`.
public enum ProgramMetrics {
  static let buildInfo = Metric(
    "martlet_build_info", .gauge, labels: ["program", "version", "commit"], bound: "1",
    merge: .highest, "1, with the program, its release and its commit as labels.")
  static let ready = Metric(
    "martlet_ready", .gauge, merge: .lowest,
    event: "ready", "1 while /readyz answers 200: the process is ready.")
  static let notReady = Metric(
    "martlet_not_ready", .gauge, labels: ["condition"],
    bound: "\(StatusBoard.conditions.count)",
    "1 while a condition is not met without which /readyz answers 503: start, partitions, kafka, rights, writes,"
      + " provider-tokens, database, devices, stop.")
  static let unacknowledged = Metric(
    "martlet_kafka_unacknowledged_seconds", .gauge, unit: .seconds, merge: .highest,
    event: "Kafka does not acknowledge records; retrying, …",
    "How long the oldest record that the process has written has waited for Kafka's acknowledgement; 0 without one. From"
      + " \(StatusBoard.writePatience / 1_000) s on the process is not ready (writes).")
  static let heartbeat = Metric(
    "martlet_heartbeat_timestamp_seconds", .gauge, unit: .seconds, labels: ["thread"],
    bound: "loops + 2", "When a thread last began a turn, as Unix time.")
  static let cpu = Metric(
    "process_cpu_seconds_total", .counter, unit: .seconds,
    "Processor time that the process has used.")
  static let resident = Metric(
    "process_resident_memory_bytes", .gauge, unit: .bytes, "Memory of the process in RAM.")
  static let virtual = Metric(
    "process_virtual_memory_bytes", .gauge, unit: .bytes, "Address space of the process.")
  static let openFiles = Metric("process_open_fds", .gauge, "Open file descriptors.")
  static let maxFiles = Metric(
    "process_max_fds", .gauge, "File descriptors that the process may have open.")
  static let startTime = Metric(
    "process_start_time_seconds", .gauge, unit: .seconds,
    "When the process started, as Unix time.")

  public static let all = [
    buildInfo, ready, notReady, unacknowledged, heartbeat, cpu, resident, virtual, openFiles,
    maxFiles, startTime,
  ]
}

/// The metrics that every program that uses Kafka may have on `/metrics`.
public enum KafkaMetrics {
  static let recordsRefused = Metric(
    "martlet_kafka_records_refused_total", .counter,
    event: "Kafka refuses records; retrying, …",
    "Answers by which Kafka did not take a record: no right to write, no such topic, too large.")
  static let producersRefused = Metric(
    "martlet_kafka_producers_refused", .gauge,
    event: "Kafka refuses records; retrying, …",
    "Producers of this process with records that Kafka does not take at present.")
  static let producersReplaced = Metric(
    "martlet_kafka_producers_replaced_total", .counter,
    "Producers replaced after an error that ended theirs, such as a gap in an idempotent producer's sequence; what was"
      + " unanswered is produced again.")
  static let recordsLost = Metric(
    "martlet_kafka_records_lost_total", .counter,
    event: "records were removed by retention before they were read: they are lost",
    "Records that retention removed before they were read: they are lost.")
  static let deadlyRecords = Metric(
    "martlet_kafka_deadly_records_total", .counter,
    event: "this record was in hand when the process crashed, twice; it is not worked on again",
    "Records that were skipped, or became dead letters, because the process had crashed twice with them in hand."
  )
  static let logsTruncated = Metric(
    "martlet_kafka_logs_truncated_total", .counter,
    event: "log truncated or topic recreated: it ends before the committed offset",
    "Partitions found to end before the committed offset: truncated, or the topic was recreated.")
  static let commitsUnanswered = Metric(
    "martlet_kafka_commits_unanswered_total", .counter,
    event: "the group coordinator did not answer a commit; retrying",
    "Offset commits that the group's coordinator did not answer in time; they are sent again.")
  static let commitsRefused = Metric(
    "martlet_kafka_commits_refused_total", .counter,
    event: "Kafka refuses commits; retrying",
    "Offsets that Kafka refused to commit, one for each partition of a commit; they are sent again."
  )
  public static let assignmentsLost = Metric(
    "martlet_kafka_assignments_lost_total", .counter,
    event: "partitions revoked",
    "Times that the group gave partitions away before this process had given them back.")
  static let beginningsFailed = Metric(
    "martlet_kafka_assignments_failed_total", .counter,
    event: "cannot start the partitions; retrying",
    "Times that assigned partitions could not be started; retried until they can.")
  static let rejoined = Metric(
    "martlet_kafka_group_rejoins_total", .counter, event: "joining the group again",
    "Times that a member with a name joined its group again with a new client, because its old one had lost its place."
  )
  static let producerQueue = Metric(
    "martlet_kafka_producer_queue_records", .gauge,
    "Records handed to the producer that Kafka has not acknowledged.")
  static let producerQueueBytes = Metric(
    "martlet_kafka_producer_queue_bytes", .gauge, unit: .bytes,
    "Bytes of the records that Kafka has not acknowledged.")

  static let partitionsExpected = Metric(
    "martlet_kafka_group_partitions_expected", .gauge, labels: ["group"], bound: "1",
    merge: .highest, "Partitions of all topics that this process's consumer group reads.")
  static let partitionsAssigned = Metric(
    "martlet_kafka_group_partitions_assigned", .gauge, labels: ["group"], bound: "1",
    event: "partitions assigned",
    "Those of them that the group has given to this process.")
  static let lag = Metric(
    "martlet_kafka_group_lag_records", .gauge, labels: ["group", "topic"],
    bound: "topics of the group",
    "Records above the committed offsets of this process's partitions, asked of Kafka every 10 s.")
  static let heldByTransaction = Metric(
    "martlet_kafka_group_held_by_transaction_seconds", .gauge, unit: .seconds, labels: ["group"],
    bound: "1", merge: .highest, event: "waiting for an open transaction of another producer",
    "How long a transaction that another producer has left open has held back records of this process's partitions; 0"
      + " if none does. They are not part of the lag.")
  static let throttled = Metric(
    "martlet_kafka_throttled_seconds_total", .counter, unit: .seconds,
    event: "a broker delays this process: a quota is used up",
    "Time that brokers have delayed answers to this process because a quota of its Kafka user or client id was used up."
  )
  static let commit = Metric(
    "martlet_kafka_commit_seconds", .histogram, unit: .seconds,
    "Time from an offset commit to the coordinator's answer, if it takes the commit.")
  static let commitMetadata = Metric(
    "martlet_kafka_commit_metadata_bytes", .gauge, unit: .bytes, merge: .highest,
    "Longest offset map in the last commit; Kafka takes 4,096 bytes, and what does not fit is sent again after a crash."
  )

  public static let all = [
    recordsRefused, producersRefused, producersReplaced, recordsLost, deadlyRecords, logsTruncated,
    commitsUnanswered, commitsRefused, assignmentsLost,
    beginningsFailed, rejoined, producerQueue, producerQueueBytes, partitionsExpected,
    partitionsAssigned,
    lag, heldByTransaction, throttled, commit, commitMetadata,
  ]
}
