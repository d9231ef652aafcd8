// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 3.36, rate: 140_342),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 4.31, rate: 31_757),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 3.26, rate: 124_823),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.74, rate: 131_162),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 19.76, rate: 4_808),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 31.99, rate: 4_839),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.91, rate: 166_300),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 3.25, rate: 157_650),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 3.1, rate: 124_563),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 4.45, rate: 108_801),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 8.05, rate: 80_287),
    .init(
      "ingest", "ingest",
      cpu: 3.06, rate: 126_986),
    .init(
      "feedback", "feedback",
      cpu: 31.88, rate: 20_572),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 4.15, rate: 300_254),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 3.88, rate: 233_570),
    .init(
      "latency", "saturation",
      rate: 139_633),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 22.0, p99: 38.0),
    .init(
      "latency", "10 % of saturation",
      rate: 13_963, p50: 22.9, p99: 68.1),
    .init(
      "latency", "50 % of saturation",
      rate: 69_817, p50: 26.5, p99: 100.7),
    .init(
      "latency", "80 % of saturation",
      rate: 111_707, p50: 29.7, p99: 142.2),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_028.0, rate: 50, p50: 62, p99: 70),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_028.0, rate: 50, p50: 62, p99: 67),
    .init(
      "api", "api, NDJSON",
      cpu: 5.28, rate: 205_574),
    .init(
      "api", "api, one request at a time",
      p50: 6.1, p99: 7.9),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 1.57, rate: 100_510),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.68, rate: 100_510),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 3.08, rate: 100_510),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 3.31, rate: 100_510),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 1.83, rate: 113_035),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.66, rate: 113_035),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 3.13, rate: 113_035),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 3.76, rate: 113_035),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 1.96, rate: 112_949),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.68, rate: 112_949),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 3.11, rate: 112_949),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 4.28, rate: 112_949),
    .init(
      "demo", "demo, 2 senders",
      rate: 100_686, p50: 41, p99: 171, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 98_467, p50: 40, p99: 167, fanOut: 2.57),
  ]
}
