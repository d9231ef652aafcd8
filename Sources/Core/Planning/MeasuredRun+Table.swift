// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.96, rate: 163_175),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.74, rate: 156_271),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.03, rate: 160_425),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 19.37, rate: 4_840),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 32.37, rate: 4_814),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 4.06, rate: 119_259),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 4.62, rate: 131_053),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.83, rate: 137_412),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 4.55, rate: 121_093),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 8.18, rate: 80_582),
    .init(
      "ingest", "ingest",
      cpu: 3.82, rate: 96_605),
    .init(
      "feedback", "feedback",
      cpu: 35.76, rate: 19_212),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 4.88, rate: 266_571),
    .init(
      "latency", "saturation",
      rate: 121_819),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 23.0, p99: 34.0),
    .init(
      "latency", "10 % of saturation",
      rate: 12_182, p50: 22.4, p99: 48.2),
    .init(
      "latency", "50 % of saturation",
      rate: 60_910, p50: 25.2, p99: 56.4),
    .init(
      "latency", "80 % of saturation",
      rate: 97_455, p50: 32.1, p99: 232.5),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_462.25, rate: 50, p50: 61, p99: 68),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_462.25, rate: 50, p50: 61, p99: 68),
    .init(
      "api", "api, NDJSON",
      cpu: 4.25, rate: 255_277),
    .init(
      "api", "api, one request at a time",
      p50: 5.7, p99: 6.7),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 1.77, rate: 92_331),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.74, rate: 92_331),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 3.61, rate: 92_331),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 3.6, rate: 92_331),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 1.71, rate: 110_854),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.74, rate: 110_854),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 3.6, rate: 110_854),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 3.89, rate: 110_854),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 2.17, rate: 98_831),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.9, rate: 98_831),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 3.95, rate: 98_831),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 5.42, rate: 98_831),
    .init(
      "demo", "demo, 2 senders",
      rate: 96_889, p50: 52, p99: 399, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 91_053, p50: 77, p99: 327, fanOut: 2.57),
  ]
}
