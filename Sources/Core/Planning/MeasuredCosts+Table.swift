// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.73, request: 211.51, batch: 20.35, ingest: 3.24, feedback: 28.22,
    h2load: 3.24, senderMiB: 57.10, ingestMiB: 77.10,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit a846661")
}
