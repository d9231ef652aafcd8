// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.17, rate: 225_818),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 2.25, rate: 96_785),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.13, rate: 242_717),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 2.21, rate: 233_993),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 12.66, rate: 4_834),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 15.18, rate: 4_675),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.61, rate: 215_306),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 2.47, rate: 215_628),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.18, rate: 154_688),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 3.3, rate: 151_456),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 6.15, rate: 100_226),
    .init(
      "ingest", "ingest",
      cpu: 2.02, rate: 285_855),
    .init(
      "feedback", "feedback",
      cpu: 16.18, rate: 30_123),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 2.93, rate: 376_821),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 2.96, rate: 359_013),
    .init(
      "latency", "saturation",
      rate: 168_002),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 2.0, p99: 5.0),
    .init(
      "latency", "10 % of saturation",
      rate: 16_800, p50: 25.1, p99: 45.2),
    .init(
      "latency", "50 % of saturation",
      rate: 84_001, p50: 31.5, p99: 67.4),
    .init(
      "latency", "80 % of saturation",
      rate: 134_401, p50: 26.1, p99: 42.2),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_128.92, rate: 50, p50: 56, p99: 58),
    .init(
      "api", "api, NDJSON",
      cpu: 4.01, rate: 151_481),
    .init(
      "api", "api, NDJSON to one device",
      cpu: 10.9, rate: 90_259),
    .init(
      "api", "api, one request at a time",
      p50: 0.3, p99: 5.6),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 0.62, rate: 203_740),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.39, rate: 203_740),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 2.05, rate: 203_740),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 2.23, rate: 203_740),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 0.77, rate: 163_684),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.39, rate: 163_684),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 2.16, rate: 163_684),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 2.62, rate: 163_684),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 0.84, rate: 169_512),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.43, rate: 169_512),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 2.15, rate: 169_512),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 3.27, rate: 169_512),
    .init(
      "demo", "demo, 2 senders",
      rate: 105_741, p50: 37, p99: 75, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 98_941, p50: 37, p99: 151, fanOut: 2.57),
  ]
}
