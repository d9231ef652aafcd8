// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 1.93, request: 173.00, batch: 7.32, ingest: 2.13, feedback: 10.66,
    h2load: 2.45, senderMiB: 75.30, ingestMiB: 100.70,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 7ac4eedd+")
}
