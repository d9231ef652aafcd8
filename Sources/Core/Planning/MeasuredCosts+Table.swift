// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.89, request: 247.25, partition: 6.26, ingest: 2.86, feedback: 32.79,
    h2load: 3.07, senderMiB: 56.30, ingestMiB: 76.50,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit f1c6942")
}
