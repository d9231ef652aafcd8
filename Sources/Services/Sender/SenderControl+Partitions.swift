// SPDX-License-Identifier: Apache-2.0
import Delivery
import Dispatch
import EventLoop
import Glibc
import Kafka
import Pipeline
import ServiceKit
import Telemetry

/// What the sender's control thread counts.
enum SenderGroupCounter: Int, CounterKey {
  /// Maps beside committed offsets that were not ours, cut or impossible: the offset alone was used.
  case holeMapsRefused
  /// Logs that were cut, or made again, below what the group had committed.
  case logsRestarted
  /// Times that the group had given this process's partitions away before it let go of them.
  case assignmentsLost
  /// Times that nobody said where to go on in partitions that were assigned; asked again until somebody does.
  case offsetReadsFailed
  /// Provider tokens that are sealed with a key that this sender does not have, or that were changed.
  case unreadableTokens
  /// Records on the provider tokens' topic that are none.
  case badTokenRecords
  /// Provider tokens that were dated into the future when they came.
  case futureTokens
  /// Credentials that have no provider token that may be sent: their notifications wait.
  case credentialsWithoutToken
  /// Windows of `apns-id`s that were kept over a rebalance, and need not be read again.
  case dedupWindowsKept
  /// Partitions that are this process's.
  case partitionsAssigned

  var kind: CounterKind {
    switch self {
    case .credentialsWithoutToken, .partitionsAssigned: .gauge
    default: .total
    }
  }
}

/// Where partitions go on, and what is strange about their logs.
extension SenderControl {
  /// Begins what the group has given to this process, unless the coordinator does not say where: then it has to
  /// be tried again.
  func assign(_ partitions: [TopicPartition]) throws -> Bool {
    let committed: [CommittedOffset]
    do throws(KafkaError) {
      committed = try consumer.committed(partitions, timeoutMilliseconds: 5_000)
    } catch {
      counters.add(.offsetReadsFailed)
      context.log.warning("cannot read the committed offsets; retrying", ["error": "\(error)"])
      return false
    }
    epoch += 1
    assigned = partitions
    var grants = Array(repeating: [PartitionGrant](), count: loops.count)
    var starts: [PartitionStart] = []
    var wants: [WindowRebuild.Want] = []
    let deadline = MonotonicClock.milliseconds() + UInt64(settings.dedupRebuildMilliseconds)
    let loopOf = deal(partitions)
    for var entry in committed {
      guard let feed = feed(of: entry.partition.topic) else { continue }
      if remade.contains(entry.partition) { entry = CommittedOffset(entry.partition, offset: nil) }
      let loop = loopOf[entry.partition] ?? 0
      let (resume, isNews) = memory.resume(
        entry.partition, committed: entry.offset, map: map(beside: entry))
      let start = isLane(feed) ? windowStart(entry.partition, resume) : nil
      let mustRead = start?.missing.isEmpty == false
      grants[loop].append(
        PartitionGrant(
          partition: entry.partition, feed: feed, epoch: epoch, resume: resume,
          window: start?.window, windowDeadline: mustRead ? deadline : nil,
          queue: consumer.openQueue(entry.partition, wakeup: loops[loop].wakeup)))
      commits.begin(
        entry.partition, epoch: epoch, committed: entry.offset, resume, isNews: isNews)
      if let next = resume.next { alarm.assigned(entry.partition, at: next) }
      if let start, mustRead {
        wants.append(
          .init(partition: entry.partition, epoch: epoch, start: start, loop: loops[loop]))
      } else if start?.window != nil {
        counters.add(.dedupWindowsKept)
      }
      starts.append(
        PartitionStart(entry.partition, offset: resume.next ?? PartitionStart.firstRecord))
    }
    do throws(KafkaError) {
      try consumer.assign(starts)
    } catch {
      // No loop has a queue yet. Whether this heals is for the group to say, which it does as an event.
      for grant in grants.joined() { grant.queue.close() }
      commits.handOver(to: &memory)
      alarm.released()
      context.log.warning("cannot start the partitions; retrying", ["error": "\(error)"])
      return false
    }
    for (loop, grants) in grants.enumerated() where !grants.isEmpty {
      loops[loop].post(.granted(grants))
    }
    remade = []
    windows.removeAll()
    try rebuild.read(wants)
    context.log.info(
      "partitions assigned",
      [
        "count": "\(partitions.count)",
        "milliseconds": "\(MonotonicClock.milliseconds() - heardAt)",
      ])
    context.log.debug(
      "these are ours", ["partitions": partitions.map { "\($0)" }.joined(separator: " ")])
    noteAssignment()
    context.reportReady()
    return true
  }

  /// Tells the status pages how many partitions there are.
  func noteAssignment() {
    counters.set(.partitionsAssigned, assigned.count)
    context.status.set("partitions", obstacle: assigned.isEmpty ? "has no partitions" : nil)
  }

  /// Which loop each partition goes to.
  private func deal(_ partitions: [TopicPartition]) -> [TopicPartition: Int] {
    let topics = Dictionary(grouping: partitions, by: \.topic).sorted { $0.key < $1.key }
    return loopDeal.deal(topics.map { $0.value.sorted { $0.partition < $1.partition } })
  }

  private func feed(of topic: String) -> Feed? {
    if topic == topics.notifications { return .lane(.transactional) }
    if topic == topics.notificationsBulk { return .lane(.bulk) }
    for tier in RetryTier.allCases where topic == topics.retries(tier) { return .retries(tier) }
    return nil
  }

  /// What the map committed beside an offset says. Without a map that can be believed the offset is a safe
  /// start: what was completed above it is sent again.
  private func map(beside entry: CommittedOffset) -> [Range<Int64>] {
    guard let offset = entry.offset, !entry.metadata.isEmpty else { return [] }
    do throws(HoleMap.Problem) {
      return try HoleMap.decode(entry.metadata, base: offset)
    } catch {
      counters.add(.holeMapsRefused)
      context.log.warning(
        "commit metadata is not a valid offset map; ignored",
        ["partition": "\(entry.partition)", "offset": "\(offset)", "error": "\(error)"])
      return []
    }
  }

  // MARK: Windows of apns-ids

  /// The ids that a partition of a lane begins with; nil where nothing was read before.
  private func windowStart(
    _ partition: TopicPartition, _ resume: ResumePoint
  ) -> KeptWindows<TopicPartition>.Start? {
    guard settings.dedupWindow > 0, let next = resume.next, next > 0 else { return nil }
    var start = windows.take(partition, next: next, capacity: settings.dedupWindow)
    if settings.dedupRebuildMilliseconds == 0 { start.missing = next..<next }
    return start
  }

  private func isLane(_ feed: Feed) -> Bool {
    if case .lane = feed { return true }
    return false
  }

  /// Waits until no thread has a Kafka client any more.
  func endRebuild() {
    rebuild.cancel()
    let deadline = MonotonicClock.milliseconds() + 3_000
    while !rebuild.isIdle, MonotonicClock.milliseconds() < deadline { usleep(1_000) }
  }

  // MARK: Logs

  /// The first record of an assignment lies below the place where reading was to begin.
  func logRestarted(_ partition: TopicPartition, epoch: UInt32, offset: Int64) {
    guard epoch == self.epoch else { return }
    counters.add(.logsRestarted)
    context.log.error(
      "log truncated or topic recreated; reading from its start",
      ["partition": "\(partition)", "offset": "\(offset)"])
    commits.restart(partition, epoch: epoch)
    forgetLog(of: partition)
  }

  /// What is known of the partition's log is of another one.
  func forgetLog(of partition: TopicPartition) {
    memory.forget(partition)
    windows.forget(partition)
  }
}
