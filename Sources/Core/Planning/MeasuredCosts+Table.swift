// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 1.80, request: 210.69, batch: 1.56, ingest: 2.35, feedback: 10.59,
    h2load: 2.37, senderMiB: 61.00, ingestMiB: 99.10,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit de47103d")
}
