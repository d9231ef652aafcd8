// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 3.25, request: 278.57, partition: 3.66, ingest: 3.42, feedback: 35.31,
    h2load: 3.35, senderMiB: 56.40, ingestMiB: 77.70,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 24184d9")
}
