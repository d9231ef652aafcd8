// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.3, rate: 245_007),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 1.68, rate: 99_734),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.25, rate: 255_452),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 2.07, rate: 291_802),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 10.59, rate: 4_789),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 11.44, rate: 4_700),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 1.81, rate: 276_524),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 2.42, rate: 228_003),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.16, rate: 141_344),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 3.96, rate: 139_798),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 6.28, rate: 104_100),
    .init(
      "ingest", "ingest",
      cpu: 2.08, rate: 253_985),
    .init(
      "feedback", "feedback",
      cpu: 12.76, rate: 31_704),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 2.93, rate: 376_821),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 2.96, rate: 359_013),
    .init(
      "latency", "saturation",
      rate: 186_373),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 1.0, p99: 3.0),
    .init(
      "latency", "10 % of saturation",
      rate: 18_637, p50: 25.2, p99: 39.3),
    .init(
      "latency", "50 % of saturation",
      rate: 93_187, p50: 31.2, p99: 57.0),
    .init(
      "latency", "80 % of saturation",
      rate: 149_099, p50: 27.6, p99: 43.7),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "api", "api, NDJSON",
      cpu: 4.0, rate: 167_133),
    .init(
      "api", "api, NDJSON to one device",
      cpu: 10.49, rate: 86_266),
    .init(
      "api", "api, one request at a time",
      p50: 0.3, p99: 5.5),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.52, rate: 209_359),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.35, rate: 209_359),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 2.03, rate: 209_359),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 2.32, rate: 209_359),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 0.66, rate: 183_766),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.4, rate: 183_766),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 2.08, rate: 183_766),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 2.64, rate: 183_766),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 0.79, rate: 182_818),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.41, rate: 182_818),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 2.05, rate: 182_818),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 3.02, rate: 182_818),
    .init(
      "demo", "demo, 2 senders",
      rate: 109_972, p50: 32, p99: 57, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 108_418, p50: 32, p99: 69, fanOut: 2.57),
  ]
}
