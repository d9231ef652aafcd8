// SPDX-License-Identifier: Apache-2.0
package import Telemetry

/// What every program has on `/metrics`.
package enum ProgramMetrics {
  static let buildInfo = Metric(
    "martlet_build_info", .gauge, labels: ["program", "version"], bound: "1", merge: .highest,
    "1, with the program and its release as labels.")
  static let ready = Metric(
    "martlet_ready", .gauge, merge: .lowest,
    "1 while /readyz answers 200: the program does its part.")
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

  package static let all = [
    buildInfo, ready, heartbeat, cpu, resident, virtual, openFiles, maxFiles, startTime,
  ]
}

/// What every program that uses Kafka may have on `/metrics`.
package enum KafkaMetrics {
  static let recordsRefused = Metric(
    "martlet_kafka_records_refused_total", .counter,
    "Answers by which Kafka did not take a record: no right to write, no such topic, too large.")
  static let recordsLost = Metric(
    "martlet_kafka_records_lost_total", .counter,
    "Records that retention removed before they were read: they are lost.")
  static let logsTruncated = Metric(
    "martlet_kafka_logs_truncated_total", .counter,
    "Partitions found to end before the committed offset: truncated, or the topic was recreated.")
  static let commitsUnanswered = Metric(
    "martlet_kafka_commits_unanswered_total", .counter,
    "Offset commits that the group's coordinator did not answer in time; they are sent again.")
  package static let assignmentsLost = Metric(
    "martlet_kafka_assignments_lost_total", .counter,
    "Times that the group gave partitions away before this process had released them.")
  static let beginningsFailed = Metric(
    "martlet_kafka_assignments_failed_total", .counter,
    "Times that assigned partitions could not be begun; retried until they can.")
  static let producerQueue = Metric(
    "martlet_kafka_producer_queue_records", .gauge,
    "Records handed to the producer that Kafka has not acknowledged.")
  static let producerQueueBytes = Metric(
    "martlet_kafka_producer_queue_bytes", .gauge, unit: .bytes,
    "Bytes of the records that Kafka has not acknowledged.")

  package static let all = [
    recordsRefused, recordsLost, logsTruncated, commitsUnanswered, assignmentsLost,
    beginningsFailed, producerQueue, producerQueueBytes,
  ]
}
