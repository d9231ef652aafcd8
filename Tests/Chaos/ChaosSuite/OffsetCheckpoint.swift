// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import LabCommand

/// Compares what consumers have committed with what is accounted for: a committed offset beyond an open record would
/// lose it in a crash, and so would an offset map that calls it completed.
final class OffsetCheckpoint {
  private let admin: KafkaAdmin
  private let names: TopicNames
  private let requests: [TopicPartition]
  /// The number of comparisons that were possible; there are none during an outage.
  private(set) var count = 0
  /// The number of records above committed offsets that offset maps called completed, over all comparisons.
  private(set) var mapped = 0
  /// Open records, or requests, that a committed offset or an offset map covers, as text.
  private(set) var violations: [String] = []

  init(_ kafka: KafkaConfiguration, _ names: TopicNames) throws {
    admin = try KafkaAdmin(kafka)
    self.names = names
    let counts = try admin.partitionCounts(timeoutMilliseconds: 30_000)
    requests = (0..<Int32(counts[names.requests] ?? 0)).map {
      TopicPartition(topic: names.requests, partition: $0)
    }
  }

  func close() { admin.close() }

  /// Reads the offsets, then the ends of all topics, then everything up to there: whatever a committed offset covers
  /// must have been in Kafka before.
  ///
  /// - Parameter attempts: Further attempts, because brokers that are away, or no longer lead, do not respond.
  func take(_ readers: TopicReaders, _ auditor: Auditor, attempts: Int = 5) {
    for attempt in 1...attempts {
      if compare(readers, auditor) || attempt == attempts { return }
      usleep(200_000)
    }
  }

  private func compare(_ readers: TopicReaders, _ auditor: Auditor) -> Bool {
    guard
      let sent = try? admin.groupOffsets(
        names.group(.sender), readers.lanePartitions, timeoutMilliseconds: 1_000),
      let ingested = try? admin.groupOffsets(
        names.group(.ingest), requests, timeoutMilliseconds: 1_000),
      let ends = try? admin.watermarks(readers.partitions, timeoutMilliseconds: 1_000)
    else { return false }
    let wanted = zip(readers.partitions, ends).filter { $1.high > $1.low }
    let deadline = MonotonicClock.milliseconds() + 3_000
    while wanted.contains(where: { readers.positions[$0.0] ?? 0 < $0.1.high }) {
      guard MonotonicClock.milliseconds() < deadline else { return false }
      _ = readers.turn(auditor)
    }
    count += 1
    for entry in sent { check(entry, readers, auditor) }
    for entry in ingested {
      guard let offset = entry.offset else { continue }
      let open = auditor.overtakenRequests(partition: entry.partition.partition, below: offset)
      if open > 0 { violations.append("\(entry.partition) committed \(offset) past \(open) open") }
    }
    return true
  }

  private func check(_ entry: CommittedOffset, _ readers: TopicReaders, _ auditor: Auditor) {
    var log = readers.lanes[entry.partition] ?? TopicReaders.LaneLog()
    let finding = CommitAudit.judge(entry, &log, auditor)
    mapped += finding.mapped
    violations += finding.problems
    readers.lanes[entry.partition] = log
  }

  /// Records that a clean stop left uncommitted, as text; the next start would read them again.
  func leftOver(_ readers: TopicReaders) throws -> [String] {
    var left: [String] = []
    for (reader, partitions) in [
      (ReaderGroup.sender, readers.lanePartitions), (ReaderGroup.ingest, requests),
    ] {
      let marks = try admin.watermarks(partitions, timeoutMilliseconds: 30_000)
      let offsets = try admin.groupOffsets(
        names.group(reader), partitions, timeoutMilliseconds: 30_000)
      let committed = Dictionary(
        offsets.map { ($0.partition, $0.offset) }, uniquingKeysWith: { first, _ in first })
      for (partition, mark) in zip(partitions, marks) where mark.high > mark.low {
        let offset = (committed[partition] ?? nil) ?? 0
        if offset < mark.high { left.append("\(partition) \(offset) of \(mark.high)") }
      }
    }
    return left
  }
}
