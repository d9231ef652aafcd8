// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 1.52, request: 217.15, batch: 5.38, ingest: 1.81, feedback: 8.90,
    h2load: 2.26, senderMiB: 73.00, ingestMiB: 101.20,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit bb521b33")
}
