// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 3.29, batch: 4.59, request: 359.07, ingest: 3.93, feedback: 30.27,
    h2load: 3.36, senderMiB: 56.10, ingestMiB: 77.10,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 52b6cfd")
}
