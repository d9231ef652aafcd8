// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Gateways
import Kafka
import ServiceKit
import Telemetry

/// Decides where assigned partitions go on and which loop gets each: from the committed offsets and their offset maps,
/// from what this process completed in them before, and from the windows of `apns-id`s that it kept.
///
/// Owner: the control thread.
struct PartitionPlanner {
  /// An assignment, divided among the loops.
  struct Plan {
    /// For each loop.
    fileprivate(set) var grants: [[PartitionGrant]]
    fileprivate(set) var starts: [GroupStart] = []
    /// Windows that are to be read before their partitions are fed.
    fileprivate var wants: [WindowRebuild.Want] = []

    /// The assignment cannot be begun; no loop has seen it.
    func close() { for grant in grants.joined() { grant.queue.close() } }
  }

  private let rebuildMilliseconds: UInt64
  private let topics: TopicNames
  private let loops: [Mailbox<LoopMessage>]
  private let log: Logger
  private let counters: Counters<SenderGroupCounter>
  private let rebuild: WindowRebuild
  private var assignment: LoopAssignment<TopicPartition>
  var memory: PartitionMemory<TopicPartition>

  init(
    _ settings: SenderSettings, _ topics: TopicNames, _ loops: [Mailbox<LoopMessage>],
    _ rebuild: WindowRebuild, _ log: Logger, _ counters: Counters<SenderGroupCounter>
  ) {
    rebuildMilliseconds = UInt64(settings.dedupRebuildMilliseconds)
    memory = PartitionMemory(
      capacity: settings.dedupWindow, isRebuilding: settings.dedupRebuildMilliseconds > 0)
    self.topics = topics
    self.loops = loops
    self.rebuild = rebuild
    self.log = log
    self.counters = counters
    assignment = LoopAssignment(loops: loops.count)
  }

  // MARK: Assignments

  /// - Parameters:
  ///   - logStarts: where the logs begin of which the group has committed nothing, as far as that is known.
  ///   - logEnds: where the logs end of which it has committed a map, as far as that is known.
  ///   - open: opens a partition's queue, which signals that wakeup.
  mutating func plan(
    _ committed: [CommittedOffset], logStarts: [TopicPartition: Int64],
    logEnds: [TopicPartition: Int64], epoch: UInt32, now: UInt64,
    open: (TopicPartition, Wakeup) -> KafkaQueue
  ) -> Plan {
    var plan = Plan(grants: Array(repeating: [], count: loops.count))
    let loopOf = assignment(committed.map(\.partition))
    let deadline = now + rebuildMilliseconds
    for entry in committed {
      guard let feed = feed(of: entry.partition.topic) else { continue }
      let loop = loopOf[entry.partition] ?? 0
      let start = memory.start(
        entry.partition, takesIDs: feed.isLane, committed: entry.offset,
        map: map(beside: entry, logEnd: logEnds[entry.partition]),
        logStart: logStarts[entry.partition])
      plan.grants[loop].append(
        PartitionGrant(
          partition: entry.partition, feed: feed, epoch: epoch, resume: start.resume,
          window: start.ids?.window, windowDeadline: start.mustRead ? deadline : nil,
          queue: open(entry.partition, loops[loop].wakeup)))
      plan.starts.append(
        GroupStart(entry.partition, committed: entry.offset, start.resume, isNews: start.isNews))
      if let ids = start.ids, start.mustRead {
        plan.wants.append(
          .init(partition: entry.partition, epoch: epoch, start: ids, loop: loops[loop]))
      } else if start.ids?.window != nil {
        counters.add(.dedupWindowsKept)
      }
    }
    return plan
  }

  /// Gives the loops what is theirs, and has the missing windows read.
  mutating func begin(_ plan: Plan) throws {
    for (loop, grants) in plan.grants.enumerated() where !grants.isEmpty {
      loops[loop].post(.granted(grants))
    }
    memory.removeAll()
    try rebuild.read(plan.wants)
  }

  /// Which loop each partition goes to.
  private mutating func assignment(_ partitions: [TopicPartition]) -> [TopicPartition: Int] {
    let topics = Dictionary(grouping: partitions, by: \.topic).sorted { $0.key < $1.key }
    return assignment.assign(topics.map { $0.value.sorted { $0.partition < $1.partition } })
  }

  private func feed(of topic: String) -> Feed? {
    for lane in topics.lanes.all where topic == topics.notifications(lane) { return .lane(lane) }
    for tier in RetryTier.allCases where topic == topics.retries(tier) { return .retries(tier) }
    return nil
  }

  /// What the map committed beside an offset says. Without a map that can be believed the offset is a safe
  /// start: what was completed above it is sent again.
  private func map(beside entry: CommittedOffset, logEnd: Int64?) -> [Range<Int64>] {
    guard let offset = entry.offset, !entry.metadata.isEmpty else { return [] }
    do throws(OffsetMap.Problem) {
      return try OffsetMap.decode(
        entry.metadata, of: entry.partition, base: offset, logEnd: logEnd)
    } catch {
      counters.add(.offsetMapsRefused)
      log.warning(
        "commit metadata is not a valid offset map; ignored",
        ["partition": "\(entry.partition)", "offset": "\(offset)", "error": "\(error)"])
      return []
    }
  }

  // MARK: Giving back

  /// The partitions are asked back: no window is read any more.
  func release() { rebuild.cancel() }

  /// A loop has given its partitions back.
  mutating func keep(_ released: [ReleasedWindow]) {
    for kept in released { memory.keep(kept.partition, kept.window, next: kept.next) }
  }

  /// What is known of these partitions is of other logs.
  mutating func forget(_ partitions: [TopicPartition]) {
    for partition in partitions { memory.forget(partition) }
  }

  /// Waits until no thread has a Kafka client any more.
  func end() { rebuild.end() }
}
