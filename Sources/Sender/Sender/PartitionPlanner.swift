// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import SenderDecisions
import ServiceKit
import Telemetry

/// Where assigned partitions go on and which loop gets each (`Assignments`), with the partitions' queues and the reader of
/// their windows.
///
/// Owner: the control thread.
struct PartitionPlanner {
  /// An assignment, divided among the loops.
  struct Plan {
    /// For each loop.
    fileprivate var grants: [[PartitionGrant]]
    let starts: [GroupStart<TopicPartition>]
    fileprivate let wants: [WindowReading<TopicPartition>.Want]
    fileprivate let epoch: UInt32

    /// The assignment cannot be begun; no loop has seen it.
    func close() { for grant in grants.joined() { grant.queue.close() } }
  }

  private let topics: TopicNames
  private let loops: [Mailbox<LoopMessage>]
  private let log: Logger
  private let counters: Counters<SenderMetrics>
  private let rebuild: WindowRebuild
  var assignments: Assignments<TopicPartition>

  init(
    _ settings: SenderSettings, _ topics: TopicNames, _ loops: [Mailbox<LoopMessage>],
    _ rebuild: WindowRebuild, _ log: Logger, _ counters: Counters<SenderMetrics>
  ) {
    self.topics = topics
    self.loops = loops
    self.rebuild = rebuild
    self.log = log
    self.counters = counters
    assignments = Assignments(
      loops: loops.count, window: settings.dedupWindow,
      rebuildMilliseconds: UInt64(settings.dedupRebuildMilliseconds))
  }

  // MARK: Beginning

  /// - Parameters:
  ///   - logStarts: where the logs begin of which the group has committed nothing, as far as that is known.
  ///   - logEnds: where the logs end of which it has committed a map, as far as that is known.
  ///   - open: opens a partition's queue, which signals that wakeup.
  mutating func plan(
    _ committed: [CommittedOffset], logStarts: [TopicPartition: Int64],
    logEnds: [TopicPartition: Int64], epoch: UInt32, now: UInt64,
    open: (TopicPartition, Wakeup) -> KafkaQueue
  ) -> Plan {
    let topics = Dictionary(grouping: committed) { $0.partition.topic }
      .filter { topicKind(of: $0.key) != nil }
      .sorted { $0.key < $1.key }
    let plan = assignments.plan(
      topics.map { topic in
        topic.value.sorted { $0.partition.partition < $1.partition.partition }.map {
          .init(
            $0.partition, takesIDs: topicKind(of: topic.key)?.isLane == true, committed: $0.offset,
            metadata: $0.metadata, logStart: logStarts[$0.partition],
            logEnd: logEnds[$0.partition])
        }
      }, now: now)
    report(plan)
    var grants: [[PartitionGrant]] = Array(repeating: [], count: loops.count)
    for grant in plan.grants {
      guard let topicKind = topicKind(of: grant.partition.topic) else { continue }
      grants[grant.loop].append(
        PartitionGrant(
          partition: grant.partition, epoch: epoch, start: GrantedPartition(grant, topicKind),
          queue: open(grant.partition, loops[grant.loop].wakeup)))
    }
    return Plan(grants: grants, starts: plan.starts, wants: plan.wants, epoch: epoch)
  }

  private func report(_ plan: Assignments<TopicPartition>.Plan) {
    counters.add(.dedupWindowsKept, plan.windowsKept)
    for (partition, offset, problem) in plan.refusedMaps {
      counters.add(.offsetMapsRefused)
      log(
        SenderLog.offsetMapInvalid,
        ["partition": "\(partition)", "offset": "\(offset)", "error": "\(problem)"])
    }
  }

  private func topicKind(of topic: String) -> TopicKind? {
    for lane in topics.lanes.all where topic == topics.notifications(lane) { return .lane(lane) }
    for tier in RetryTier.allCases where topic == topics.retries(tier) { return .retries(tier) }
    return nil
  }

  /// Gives the loops what is theirs, and has the missing windows read.
  mutating func begin(_ plan: Plan) throws {
    var owners: [TopicPartition: Mailbox<LoopMessage>] = [:]
    for (loop, grants) in plan.grants.enumerated() where !grants.isEmpty {
      for grant in grants { owners[grant.partition] = loops[loop] }
      loops[loop].post(.granted(grants))
    }
    assignments.begun()
    try rebuild.read(plan.wants, epoch: plan.epoch, for: owners)
  }

  // MARK: Draining

  /// The loops are to drain, and no window is read any more.
  ///
  /// - Parameter isLost: their partitions are others' already.
  /// - Returns: false if they do already.
  mutating func drain(isLost: Bool) -> Bool {
    rebuild.cancel()
    return assignments.drain(isLost: isLost)
  }

  /// The windows of a loop that is drained.
  mutating func keep(_ windows: [DrainedWindow]) {
    for kept in windows { assignments.keep(kept.partition, kept.window, next: kept.next) }
  }

  /// What is known of these partitions is of other logs.
  mutating func forget(_ partitions: [TopicPartition]) {
    for partition in partitions { assignments.memory.forget(partition) }
  }

  /// Waits until no thread has a Kafka client any more.
  func end() { rebuild.end() }
}
