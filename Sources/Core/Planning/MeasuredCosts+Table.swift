// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.96, request: 322.68, partition: 2.56, ingest: 2.93, feedback: 30.44,
    h2load: 3.02, senderMiB: 56.00, ingestMiB: 76.70,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 56ab1ea")
}
