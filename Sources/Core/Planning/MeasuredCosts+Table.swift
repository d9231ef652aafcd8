// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 4.83, batch: 6.59, request: 513.74, ingest: 4.20, feedback: 50.72,
    h2load: 4.83, senderMiB: 55.40, ingestMiB: 76.00,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 6cf60eb+")
}
