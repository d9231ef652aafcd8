// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 1.73, rate: 260_440),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 2.4, rate: 97_335),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 1.99, rate: 232_212),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 2.1, rate: 245_736),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 13.83, rate: 4_816),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 17.07, rate: 4_720),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.05, rate: 231_643),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 2.21, rate: 229_024),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 1.75, rate: 143_108),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 2.82, rate: 142_955),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 5.48, rate: 96_919),
    .init(
      "ingest", "ingest",
      cpu: 1.84, rate: 285_472),
    .init(
      "feedback", "feedback",
      cpu: 9.56, rate: 43_947),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 2.93, rate: 376_821),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 2.96, rate: 359_013),
    .init(
      "latency", "saturation",
      rate: 168_033),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 1.0, p99: 3.0),
    .init(
      "latency", "10 % of saturation",
      rate: 16_803, p50: 24.6, p99: 37.1),
    .init(
      "latency", "50 % of saturation",
      rate: 84_016, p50: 28.5, p99: 56.3),
    .init(
      "latency", "80 % of saturation",
      rate: 134_426, p50: 27.4, p99: 42.4),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "api", "api, NDJSON",
      cpu: 3.98, rate: 156_833),
    .init(
      "api", "api, NDJSON to one device",
      cpu: 9.8, rate: 89_711),
    .init(
      "api", "api, one request at a time",
      p50: 0.3, p99: 5.8),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.63, rate: 213_707),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.38, rate: 213_707),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 2.02, rate: 213_707),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 2.24, rate: 213_707),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 0.74, rate: 196_570),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.38, rate: 196_570),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 1.97, rate: 196_570),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 2.65, rate: 196_570),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 0.75, rate: 178_119),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.43, rate: 178_119),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 2.12, rate: 178_119),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 3.19, rate: 178_119),
    .init(
      "demo", "demo, 2 senders",
      rate: 109_620, p50: 33, p99: 50, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 104_792, p50: 35, p99: 77, fanOut: 2.57),
  ]
}
