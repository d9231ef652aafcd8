// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka

/// Checks a senders' group's commit of a partition against what is known of its records: the committed offset covers
/// every record below it, and the offset map with it covers the records above that it calls completed. The next owner
/// does not send these records again, so each must have its outcome or a later record.
enum CommitAudit {
  /// The verdict on one committed offset.
  struct Finding {
    /// The number of records above the offset that the map calls completed.
    var mapped = 0
    /// The violations, as text.
    var problems: [String] = []
  }

  /// - Parameters:
  ///   - log: Every record of the partition up to its end after the offset was read. Records below the offset that were
  ///     found closed are not checked again.
  static func judge(
    _ entry: CommittedOffset, _ log: inout TopicReaders.LaneLog, _ auditor: Auditor
  ) -> Finding {
    var finding = Finding()
    guard let committed = entry.offset else { return finding }
    while log.checked < log.offsets.count, log.offsets[log.checked] < committed {
      let place = log.checked
      log.checked += 1
      guard let text = open(entry.partition, log, place, auditor) else { continue }
      finding.problems.append("\(entry.partition) committed \(committed) past \(text)")
    }
    guard !entry.metadata.isEmpty else { return finding }
    let runs: [Range<Int64>]
    do throws(OffsetMap.Problem) {
      runs = try OffsetMap.decode(entry.metadata, of: entry.partition, base: committed)
    } catch {
      finding.problems.append(
        "\(entry.partition) committed \(committed) with an offset map that is \(error)")
      return finding
    }
    judge(runs, of: entry.partition, committed, log, auditor, &finding)
    return finding
  }

  private static func judge(
    _ runs: [Range<Int64>], of partition: TopicPartition, _ committed: Int64,
    _ log: TopicReaders.LaneLog, _ auditor: Auditor, _ finding: inout Finding
  ) {
    // Records from `checked` on are at or above the committed offset, like the runs.
    var place = log.checked
    for run in runs {
      while place < log.offsets.count, log.offsets[place] < run.lowerBound { place += 1 }
      while place < log.offsets.count, log.offsets[place] < run.upperBound {
        finding.mapped += 1
        if let text = open(partition, log, place, auditor) {
          finding.problems.append(
            "\(partition) committed \(committed) with an offset map that calls completed \(text)")
        }
        place += 1
      }
    }
    if let last = runs.last, last.upperBound > log.end {
      finding.problems.append(
        "\(partition) committed \(committed) with an offset map up to \(last.upperBound),"
          + " and its records end at \(log.end)")
    }
  }

  /// Describes a record that is not accounted for; nil if it is.
  private static func open(
    _ partition: TopicPartition, _ log: TopicReaders.LaneLog, _ place: Int, _ auditor: Auditor
  ) -> String? {
    let (offset, id) = (log.offsets[place], log.ids[place])
    let origin = DeadLetterOrigin(
      topic: partition.topic, partition: partition.partition, offset: offset)
    guard !auditor.isClosed(id, at: origin) else { return nil }
    return "\(offset), which is open: \(id.map { auditor.describe($0) } ?? "no envelope")"
  }
}
