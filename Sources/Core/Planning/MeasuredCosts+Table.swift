// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.75, batch: 18.30, request: 197.70, ingest: 3.06, feedback: 24.12,
    h2load: 3.12, senderMiB: 55.50, ingestMiB: 77.10,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 4840ce6")
}
