// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 3.20, batch: 4.08, request: 312.80, ingest: 2.60, feedback: 31.40,
    h2load: 2.99, senderMiB: 56.00, ingestMiB: 76.00,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 852cd25")
}
