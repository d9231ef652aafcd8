// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 1.95, rate: 260_571),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 2.18, rate: 100_097),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.02, rate: 240_302),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 2.47, rate: 240_918),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 9.79, rate: 4_769),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 10.75, rate: 4_831),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 1.91, rate: 243_200),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 2.18, rate: 223_707),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.06, rate: 151_957),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 2.9, rate: 188_843),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 5.73, rate: 101_701),
    .init(
      "ingest", "ingest",
      cpu: 1.9, rate: 303_846),
    .init(
      "feedback", "feedback",
      cpu: 11.06, rate: 44_983),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 2.93, rate: 376_821),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 2.96, rate: 359_013),
    .init(
      "latency", "saturation",
      rate: 188_167),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 1.0, p99: 11.0),
    .init(
      "latency", "10 % of saturation",
      rate: 18_817, p50: 23.4, p99: 38.3),
    .init(
      "latency", "50 % of saturation",
      rate: 94_083, p50: 26.3, p99: 52.7),
    .init(
      "latency", "80 % of saturation",
      rate: 150_534, p50: 21.8, p99: 35.2),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "api", "api, NDJSON",
      cpu: 4.38, rate: 134_002),
    .init(
      "api", "api, NDJSON to one device",
      cpu: 10.57, rate: 86_580),
    .init(
      "api", "api, one request at a time",
      p50: 0.4, p99: 6.3),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.48, rate: 225_133),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.33, rate: 225_133),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 1.76, rate: 225_133),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 1.92, rate: 225_133),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 0.52, rate: 207_771),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.34, rate: 207_771),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 1.84, rate: 207_771),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 2.19, rate: 207_771),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 0.67, rate: 167_654),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.34, rate: 167_654),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 1.82, rate: 167_654),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 2.53, rate: 167_654),
    .init(
      "demo", "demo, 2 senders",
      rate: 108_441, p50: 35, p99: 77, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 105_676, p50: 36, p99: 75, fanOut: 2.57),
  ]
}
