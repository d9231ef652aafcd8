// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import EventLoop
import Kafka
import Pipeline
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

  private let settings: SenderSettings
  private let topics: TopicNames
  private let loops: [Mailbox<LoopMessage>]
  private let log: Logger
  private let counters: Counters<SenderGroupCounter>
  private let rebuild: WindowRebuild
  private var assignment: LoopAssignment<TopicPartition>
  /// What was completed in partitions that were given back.
  var memory = CompletionMemory<TopicPartition>()
  /// Of the partitions that were given back and may come back.
  private var windows = KeptWindows<TopicPartition>()

  init(
    _ settings: SenderSettings, _ topics: TopicNames, _ loops: [Mailbox<LoopMessage>],
    _ rebuild: WindowRebuild, _ log: Logger, _ counters: Counters<SenderGroupCounter>
  ) {
    self.settings = settings
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
    let deadline = now + UInt64(settings.dedupRebuildMilliseconds)
    for entry in committed {
      guard let feed = feed(of: entry.partition.topic) else { continue }
      let loop = loopOf[entry.partition] ?? 0
      let (resume, isNews) = memory.resume(
        entry.partition, committed: entry.offset,
        map: map(beside: entry, logEnd: logEnds[entry.partition]),
        logStart: logStarts[entry.partition])
      let wasRead = entry.offset != nil
      let start = isLane(feed) && wasRead ? windowStart(entry.partition, resume) : nil
      let mustRead = start?.missing.isEmpty == false
      plan.grants[loop].append(
        PartitionGrant(
          partition: entry.partition, feed: feed, epoch: epoch, resume: resume,
          window: start?.window, windowDeadline: mustRead ? deadline : nil,
          queue: open(entry.partition, loops[loop].wakeup)))
      plan.starts.append(
        GroupStart(entry.partition, committed: entry.offset, resume, isNews: isNews))
      if let start, mustRead {
        plan.wants.append(
          .init(partition: entry.partition, epoch: epoch, start: start, loop: loops[loop]))
      } else if start?.window != nil {
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
    windows.removeAll()
    memory.removeAll()
    try rebuild.read(plan.wants)
  }

  /// Which loop each partition goes to.
  private mutating func assignment(_ partitions: [TopicPartition]) -> [TopicPartition: Int] {
    let topics = Dictionary(grouping: partitions, by: \.topic).sorted { $0.key < $1.key }
    return assignment.assign(topics.map { $0.value.sorted { $0.partition < $1.partition } })
  }

  private func feed(of topic: String) -> Feed? {
    if topic == topics.notifications { return .lane(.transactional) }
    if topic == topics.notificationsBulk { return .lane(.bulk) }
    for tier in RetryTier.allCases where topic == topics.retries(tier) { return .retries(tier) }
    return nil
  }

  private func isLane(_ feed: Feed) -> Bool {
    if case .lane = feed { return true }
    return false
  }

  /// What the map committed beside an offset says. Without a map that can be believed the offset is a safe
  /// start: what was completed above it is sent again.
  private func map(beside entry: CommittedOffset, logEnd: Int64?) -> [Range<Int64>] {
    guard let offset = entry.offset, !entry.metadata.isEmpty else { return [] }
    do throws(OffsetMap.Problem) {
      return try OffsetMap.decode(entry.metadata, base: offset, logEnd: logEnd)
    } catch {
      counters.add(.offsetMapsRefused)
      log.warning(
        "commit metadata is not a valid offset map; ignored",
        ["partition": "\(entry.partition)", "offset": "\(offset)", "error": "\(error)"])
      return []
    }
  }

  /// The ids that a partition of a lane begins with; nil where nothing was read before.
  private mutating func windowStart(
    _ partition: TopicPartition, _ resume: ResumePoint
  ) -> KeptWindows<TopicPartition>.Start? {
    guard settings.dedupWindow > 0, let next = resume.next, next > 0 else { return nil }
    var start = windows.take(partition, next: next, capacity: settings.dedupWindow)
    if settings.dedupRebuildMilliseconds == 0 { start.missing = next..<next }
    return start
  }

  // MARK: Giving back

  /// The partitions are asked back: no window is read any more.
  func release() { rebuild.cancel() }

  /// A loop has given its partitions back.
  mutating func keep(_ released: [ReleasedWindow]) {
    for kept in released { windows.keep(kept.partition, kept.window, next: kept.next) }
  }

  /// What is known of these partitions is of other logs.
  mutating func forget(_ partitions: [TopicPartition]) {
    for partition in partitions {
      memory.forget(partition)
      windows.forget(partition)
    }
  }

  /// Waits until no thread has a Kafka client any more.
  func end() { rebuild.end() }
}
