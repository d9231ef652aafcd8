// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  public static let measured = MeasuredCosts(
    sender: 2.16, request: 109.33, batch: 5.85, ingest: 2.21, feedback: 12.44,
    h2load: 2.43, senderMiB: 66.80, ingestMiB: 99.30,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 4a089249")
}
