// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  package static let measured = MeasuredCosts(
    sender: 8.70, batch: 1.77, request: 0.00, ingest: 7.06, feedback: 64.45,
    h2load: 3.27, senderMiB: 52.30, ingestMiB: 75.00,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit 54dd89a+")
}
