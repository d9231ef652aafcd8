// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 2.86, rate: 152_154),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 3.61, rate: 30_949),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 2.97, rate: 135_071),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.02, rate: 172_252),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 17.4, rate: 4_768),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 27.58, rate: 4_765),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 2.94, rate: 148_682),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 3.3, rate: 140_257),
    .init(
      "sender-credentials", "sender, 12 partitions",
      cpu: 2.94, rate: 123_418),
    .init(
      "sender-credentials", "sender, 12 partitions, 100 credentials",
      cpu: 4.72, rate: 104_313),
    .init(
      "sender-credentials", "sender, 12 partitions, 1000 credentials",
      cpu: 8.1, rate: 77_645),
    .init(
      "ingest", "ingest",
      cpu: 2.88, rate: 128_722),
    .init(
      "feedback", "feedback",
      cpu: 38.16, rate: 20_546),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 4.03, rate: 294_823),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 3.79, rate: 236_965),
    .init(
      "latency", "saturation",
      rate: 144_493),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 23.0, p99: 47.0),
    .init(
      "latency", "10 % of saturation",
      rate: 14_449, p50: 22.6, p99: 59.9),
    .init(
      "latency", "50 % of saturation",
      rate: 72_246, p50: 28.2, p99: 60.9),
    .init(
      "latency", "80 % of saturation",
      rate: 115_594, p50: 32.9, p99: 166.7),
    .init(
      "lanes", "transactional, idle",
      cpu: 1_022.43, rate: 50, p50: 62, p99: 67),
    .init(
      "lanes", "transactional, with a bulk backlog",
      cpu: 1_022.43, rate: 50, p50: 61, p99: 68),
    .init(
      "api", "api, NDJSON",
      cpu: 4.8, rate: 227_699),
    .init(
      "api", "api, one request at a time",
      p50: 5.7, p99: 7.0),
    .init(
      "pipeline", "pipeline, 1 senders: broker",
      cpu: 1.48, rate: 90_360),
    .init(
      "pipeline", "pipeline, 1 senders: simulator",
      cpu: 0.71, rate: 90_360),
    .init(
      "pipeline", "pipeline, 1 senders: ingest",
      cpu: 3.07, rate: 90_360),
    .init(
      "pipeline", "pipeline, 1 senders: senders",
      cpu: 3.51, rate: 90_360),
    .init(
      "pipeline", "pipeline, 2 senders: broker",
      cpu: 1.6, rate: 110_113),
    .init(
      "pipeline", "pipeline, 2 senders: simulator",
      cpu: 0.68, rate: 110_113),
    .init(
      "pipeline", "pipeline, 2 senders: ingest",
      cpu: 3.2, rate: 110_113),
    .init(
      "pipeline", "pipeline, 2 senders: senders",
      cpu: 3.86, rate: 110_113),
    .init(
      "pipeline", "pipeline, 4 senders: broker",
      cpu: 1.84, rate: 99_493),
    .init(
      "pipeline", "pipeline, 4 senders: simulator",
      cpu: 0.72, rate: 99_493),
    .init(
      "pipeline", "pipeline, 4 senders: ingest",
      cpu: 3.16, rate: 99_493),
    .init(
      "pipeline", "pipeline, 4 senders: senders",
      cpu: 4.48, rate: 99_493),
    .init(
      "demo", "demo, 2 senders",
      rate: 100_215, p50: 42, p99: 147, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 97_017, p50: 43, p99: 235, fanOut: 2.57),
  ]
}
