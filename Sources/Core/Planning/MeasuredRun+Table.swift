// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.06, rate: 215_990),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 1.71, rate: 99_870),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.21, rate: 277_443),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 2.06, rate: 284_850),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 11.57, rate: 4_814),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 11.63, rate: 4_783),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.26, rate: 269_843),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 1.98, rate: 236_013),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 1.85, rate: 160_264),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 2.83, rate: 131_693),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 5.28, rate: 105_016),
    .init(
      "ingest", "ingest",
      cpu: 2.32, rate: 231_621),
    .init(
      "feedback", "feedback",
      cpu: 10.29, rate: 35_680),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 2.93, rate: 376_821),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 2.96, rate: 359_013),
    .init(
      "latency", "saturation",
      rate: 180_711),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 1.0, p99: 32.0),
    .init(
      "latency", "10 % of saturation",
      rate: 18_071, p50: 22.3, p99: 35.9),
    .init(
      "latency", "50 % of saturation",
      rate: 90_355, p50: 24.5, p99: 42.2),
    .init(
      "latency", "80 % of saturation",
      rate: 144_568, p50: 23.9, p99: 39.7),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "api", "api, NDJSON",
      cpu: 11.64, rate: 84_952),
    .init(
      "api", "api, one request at a time",
      p50: 0.3, p99: 5.5),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.72, rate: 181_064),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.53, rate: 181_064),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 2.59, rate: 181_064),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 2.71, rate: 181_064),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 0.84, rate: 172_435),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.54, rate: 172_435),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 2.62, rate: 172_435),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 3.11, rate: 172_435),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 0.96, rate: 158_619),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.55, rate: 158_619),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 2.6, rate: 158_619),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 3.51, rate: 158_619),
    .init(
      "demo", "demo, 2 senders",
      rate: 107_849, p50: 34, p99: 111, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 105_135, p50: 34, p99: 121, fanOut: 2.57),
  ]
}
