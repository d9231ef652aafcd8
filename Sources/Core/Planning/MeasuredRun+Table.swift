// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results.
extension MeasuredRun {
  public static let all: [MeasuredRun] = [
    .init(
      "sender", "sender, 12 partitions",
      cpu: 3.2, rate: 153_515),
    .init(
      "sender-partitions", "sender, 1 partitions",
      cpu: 4.17, rate: 31_534),
    .init(
      "sender-partitions", "sender, 12 partitions",
      cpu: 3.53, rate: 144_314),
    .init(
      "sender-partitions", "sender, 64 partitions",
      cpu: 3.72, rate: 135_491),
    .init(
      "sender-partitions-paced", "sender, 12 partitions",
      cpu: 17.08, rate: 4_765),
    .init(
      "sender-partitions-paced", "sender, 64 partitions",
      cpu: 28.3, rate: 4_789),
    .init(
      "sender-apps", "sender, 12 partitions",
      cpu: 3.18, rate: 148_854),
    .init(
      "sender-apps", "sender, 12 partitions, 100 apps",
      cpu: 3.76, rate: 133_903),
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
      cpu: 3.27, rate: 126_875),
    .init(
      "feedback", "feedback",
      cpu: 34.79, rate: 18_703),
    .init(
      "backlog", "backlog of 300,000",
      cpu: 4.03, rate: 294_823),
    .init(
      "backlog", "requests: backlog of 300,000",
      cpu: 3.79, rate: 236_965),
    .init(
      "latency", "saturation",
      rate: 120_442),
    .init(
      "latency", "20 per second",
      rate: 20, p50: 23.0, p99: 56.0),
    .init(
      "latency", "10 % of saturation",
      rate: 12_044, p50: 22.3, p99: 40.2),
    .init(
      "latency", "50 % of saturation",
      rate: 60_221, p50: 26.7, p99: 116.7),
    .init(
      "latency", "80 % of saturation",
      rate: 96_353, p50: 28.8, p99: 56.5),
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
      rate: 85_838, p50: 247, p99: 1_535, fanOut: 2.57),
    .init(
      "demo", "demo, 4 senders",
      rate: 87_325, p50: 383, p99: 1_343, fanOut: 2.57),
  ]
}
