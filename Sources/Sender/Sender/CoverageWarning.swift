// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import SenderDecisions
import ServiceKit

/// Warns when a lane has fewer partitions than the senders have loops, as far as this sender can tell from what it was
/// given: once for each number of senders that it learns of.
struct CoverageWarning {
  private let loops: Int
  /// The topics that the senders read, and those of lanes among them.
  private let topics: [String]
  private let lanes: [String]
  private var reported: Int?

  init(loops: Int, _ names: TopicNames) {
    self.loops = loops
    topics = SenderControl.subscribed(names)
    lanes = names.notifications
  }

  /// What is to be said of an assignment; empty if it was said before.
  ///
  /// - Parameter known: the number of a topic's partitions when the cluster was last looked at.
  mutating func findings(_ assigned: [TopicPartition], of known: (String) -> Int) -> [Finding] {
    var partitions: [String: Int] = [:]
    for topic in topics { partitions[topic] = known(topic) }
    // Partitions that were added may be assigned before that is seen.
    for one in assigned {
      partitions[one.topic] = max(partitions[one.topic] ?? 0, Int(one.partition) + 1)
    }
    let coverage = LoopCoverage(
      loops: loops, assigned: assigned.count, of: partitions.values.reduce(0, +))
    guard reported != coverage.senders else { return [] }
    reported = coverage.senders
    return lanes.compactMap { lane in
      partitions[lane].map { coverage.finding(topic: lane, partitions: $0) }
    }.filter { $0.status != .ok }
  }

  /// Logs it.
  mutating func note(
    _ assigned: [TopicPartition], of known: (String) -> Int, _ log: Logger
  ) {
    for finding in findings(assigned, of: known) {
      log(
        SenderLog.fewPartitions,
        ["topic": finding.place, "detail": finding.message, "remedy": finding.remedy])
    }
  }
}
