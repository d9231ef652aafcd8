// SPDX-License-Identifier: Apache-2.0

// Written by `benchmarks/run pages` from benchmarks/results: sender, sender-partitions-paced, ingest, feedback. The costs
// are their ratios to h2load, times what h2load takes beside the sender.
extension MeasuredCosts {
  package static let measured = MeasuredCosts(
    sender: 5.18, batch: 5.61, request: 410.45, ingest: 4.48, feedback: 37.03,
    h2load: 4.11, senderMiB: 49.20, ingestMiB: 75.80,
    source: "AMD EPYC, 2 cores, Linux 6.18.44-fc-v669, commit e732d41")
}
