// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.95, rate: 144_811),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 3.47, rate: 31_426),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.88, rate: 146_308),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.18, rate: 179_714),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 19.47, rate: 4_766),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 28.68, rate: 4_715),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 3.12, rate: 152_792),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 3.24, rate: 140_027),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.84, rate: 113_907),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 4.55, rate: 126_483),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 8.22, rate: 81_139),
    .init(
      "ingest", "ingest",
      cpu: 3.05, rate: 129_916),
    .init(
      "feedback", "feedback",
      cpu: 31.1, rate: 21_911),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 4.08, rate: 273_223),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 3.62, rate: 247_310),
    .init(
      "latency", "saturation",
      rate: 124_614),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 23.0, p99: 36.0),
    .init(
      "latency", "10 % of saturation",
      rate: 12_461, p50: 22.6, p99: 53.6),
    .init(
      "latency", "50 % of saturation",
      rate: 62_307, p50: 25.7, p99: 77.1),
    .init(
      "latency", "80 % of saturation",
      rate: 99_691, p50: 28.9, p99: 133.5),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_129.53, rate: 50, p50: 62, p99: 68),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_129.53, rate: 50, p50: 62, p99: 70),
    .init(
      "api", "api, NDJSON",
      cpu: 4.42, rate: 243_758),
    .init(
      "api", "api, one request at a time",
      p50: 5.7, p99: 6.7),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 1.48, rate: 118_705),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.64, rate: 118_705),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 3.05, rate: 118_705),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 3.39, rate: 118_705),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 1.64, rate: 106_201),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.66, rate: 106_201),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 3.07, rate: 106_201),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 3.9, rate: 106_201),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 1.95, rate: 109_472),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.68, rate: 109_472),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 3.1, rate: 109_472),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 4.43, rate: 109_472),
    .init(
      "demo", "demo, 2 senders",
      rate: 99_381, p50: 44, p99: 215, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 98_354, p50: 44, p99: 367, fanOut: 2.57),
  ]
}
