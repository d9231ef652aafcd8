// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.23, request: 394.35, batch: 15.30, ingest: 2.72, feedback: 35.64,
    h2load: 2.99, senderMiB: 62.10, ingestMiB: 101.80,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 15fab66d")
}
