// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 1.80, request: 169.98, batch: 1.41, ingest: 1.92, feedback: 10.04,
    h2load: 2.23, senderMiB: 70.90, ingestMiB: 100.60,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 0e7855c4")
}
