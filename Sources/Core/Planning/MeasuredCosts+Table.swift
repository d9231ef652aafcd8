// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.87, request: 317.00, partition: 2.50, ingest: 2.87, feedback: 29.84,
    h2load: 2.96, senderMiB: 53.40, ingestMiB: 76.70,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit a42dfa4")
}
