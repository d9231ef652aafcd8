// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import SenderDecisions
import ServiceKit

/// Warns when a lane has fewer partitions than the senders have loops, as far as this sender can tell from what it was
/// given: once for each number of senders that it learns of.
struct CoverageWarning {
  private let loops: Int
  /// Partitions of each topic that the senders read, when this one started.
  private let partitions: [String: Int]
  private let lanes: [String]
  private var reported: Int?

  init(loops: Int, _ names: TopicNames, _ partitions: [String: Int]) {
    self.loops = loops
    self.partitions = partitions
    lanes = names.notifications
  }

  /// What is to be said of an assignment; empty if it was said before.
  mutating func findings(_ assigned: [TopicPartition]) -> [Finding] {
    let coverage = LoopCoverage(
      loops: loops, assigned: assigned.count, of: partitions.values.reduce(0, +))
    guard reported != coverage.senders else { return [] }
    reported = coverage.senders
    return lanes.compactMap { lane in
      partitions[lane].map { coverage.finding(topic: lane, partitions: $0) }
    }.filter { $0.status != .ok }
  }

  /// Logs it.
  mutating func note(_ assigned: [TopicPartition], _ log: Logger) {
    for finding in findings(assigned) {
      log(
        SenderLog.fewPartitions,
        ["topic": finding.place, "detail": finding.message, "remedy": finding.remedy])
    }
  }
}
