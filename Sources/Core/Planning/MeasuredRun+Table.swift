// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.87, rate: 208_155),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 2.9, rate: 133_507),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.89, rate: 197_568),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.14, rate: 200_764),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 29.73, rate: 4_718),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 33.74, rate: 4_811),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.75, rate: 196_717),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 3.24, rate: 196_158),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.82, rate: 135_026),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 4.14, rate: 118_788),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 7.26, rate: 83_404),
    .init(
      "ingest", "ingest",
      cpu: 2.67, rate: 210_133),
    .init(
      "feedback", "feedback",
      cpu: 36.5, rate: 19_048),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 5.36, rate: 219_326),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 4.0, rate: 252_897),
    .init(
      "latency", "saturation",
      rate: 197_806),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 16.0, p99: 24.0),
    .init(
      "latency", "10 % of saturation",
      rate: 19_781, p50: 23.1, p99: 53.4),
    .init(
      "latency", "50 % of saturation",
      rate: 98_903, p50: 32.7, p99: 78.0),
    .init(
      "latency", "80 % of saturation",
      rate: 158_245, p50: 78.3, p99: 2_519.1),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_570.59, rate: 50, p50: 62, p99: 69),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_570.59, rate: 50, p50: 62, p99: 71),
    .init(
      "api", "api, NDJSON",
      cpu: 8.54, rate: 97_524),
    .init(
      "api", "api, one request at a time",
      p50: 0.4, p99: 5.8),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.81, rate: 148_408),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.67, rate: 148_408),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 2.82, rate: 148_408),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 3.3, rate: 148_408),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 1.03, rate: 136_577),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.75, rate: 136_577),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 2.87, rate: 136_577),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 4.21, rate: 136_577),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 1.25, rate: 119_615),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.76, rate: 119_615),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 3.04, rate: 119_615),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 4.95, rate: 119_615),
    .init(
      "demo", "demo, 2 senders",
      rate: 82_024, p50: 295, p99: 3_455, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 78_304, p50: 735, p99: 1_855, fanOut: 2.57),
  ]
}
