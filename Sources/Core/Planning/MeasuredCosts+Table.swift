// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.34, request: 139.04, batch: 19.93, ingest: 2.86, feedback: 28.70,
    h2load: 2.98, senderMiB: 56.30, ingestMiB: 77.40,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v595, commit 8cdd9d4")
}
