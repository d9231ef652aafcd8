// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import EventLoop
package import Kafka

/// A process's membership in a consumer group, for a service that takes and completes records on one thread: performs
/// what `Membership` decides on a `KafkaGroupConsumer`, and keeps the queues, the `OffsetBook` and the commits.
///
/// Nothing here waits for what is under way: while the member drains, the service's turns go on, and it says when it
/// is done. Owned by the service's thread.
package struct GroupMember {
  /// What the service has to do.
  package enum Task: Equatable {
    /// These partitions are read from now on, unless there are none.
    case begun([TopicPartition])
    /// Nothing more comes: let go of records that were taken and not looked at, finish the others, and call
    /// `drained` when that is done.
    case drain(isLost: Bool)
    /// Give up what is not finished, and call `drained`.
    case abandon
    /// The partitions are given back.
    case released
  }

  /// What a record's offset says.
  package enum Admission: Equatable {
    case new
    /// Taken before, or of a log that may be another one: not to be worked on.
    case known
  }

  private let context: ServiceContext
  private let plan: GroupPlan
  private let wakeup: Wakeup
  private let consumer: KafkaGroupConsumer
  private let counters = Counters<GroupCounter>()
  private var membership: Membership<TopicPartition>
  private var steps: [Membership<TopicPartition>.Step] = []
  private var queues: [KafkaQueue] = []
  private var nextQueue = 0
  private var mustCloseQueues = false
  private var offsets: OffsetBook
  private var commits: GroupCommits
  private var alarm: RetentionAlarm?
  /// Partitions whose offsets went back, and from where: their log may be another one.
  private var doubted: [TopicPartition: Int64] = [:]
  /// Why the group cannot be worked with any more.
  package private(set) var failure: ServiceFailure?

  /// Joins the group.
  package init(
    _ plan: GroupPlan, _ kafka: KafkaConfiguration, _ context: ServiceContext, wakeup: Wakeup
  ) throws {
    self.plan = plan
    self.context = context
    self.wakeup = wakeup
    membership = Membership(rebalancePatience: plan.rebalancePatience)
    offsets = OffsetBook(topics: plan.topics.count)
    commits = GroupCommits(context, interval: plan.commitInterval, cost: plan.cost)
    alarm = plan.watchesLosses ? try RetentionAlarm(context, kafka, wakeup: wakeup) : nil
    consumer = try KafkaGroupConsumer(
      kafka, group: plan.group, topics: plan.topics, instanceID: plan.instanceID,
      reportsEnds: true, wakeup: wakeup)
    context.counters.add(counters)
  }

  /// Whether records are to be taken.
  package var isAssigned: Bool { membership.isAssigned }
  /// Whether `drained` is owed.
  package var isDraining: Bool { membership.isDraining }
  /// Whether the service may end.
  package var hasLeft: Bool { membership.hasLeft && steps.isEmpty }

  // MARK: Turn

  /// What the service has to do next; nil when there is nothing. To be called until it says so, every turn.
  ///
  /// - Parameter now: monotonic milliseconds.
  package mutating func next(now: UInt64) -> Task? {
    closeQueues()
    while true {
      if steps.isEmpty { look(now) }
      if steps.isEmpty, membership.takesEvents, let event = consumer.nextEvent() {
        take(event, now)
        continue
      }
      guard !steps.isEmpty else { break }
      if let task = perform(steps.removeFirst(), now) { return task }
    }
    if membership.isAssigned, commits.isDue(now: now) {
      commits.turn(consumer, now: now, progress)
    }
    return nil
  }

  /// What was taken is finished, or given up.
  package mutating func drained(now: UInt64) {
    closeQueues()
    steps += membership.drained(now: now)
  }

  /// The service can do nothing more: what is under way is given up and nothing is committed.
  package mutating func fail(now: UInt64) {
    steps += membership.stop(patience: 0, isLost: true, now: now)
  }

  private mutating func look(_ now: UInt64) {
    if failure != nil { fail(now: now) }
    if context.signals.isStopping {
      steps += membership.stop(patience: plan.stopPatience, now: now)
    }
    if context.signals.isHurrying { steps += membership.fastShutdown(now: now) }
    if steps.isEmpty { lookAtLogs(now) }
    if steps.isEmpty { steps = membership.tick(now: now) }
  }

  /// Asks about partitions whose offsets did not come as they should.
  private mutating func lookAtLogs(_ now: UInt64) {
    guard let strange = alarm?.turn(consumer), !strange.isEmpty else { return }
    let remade = Set(strange).intersection(doubted.keys)
    guard !remade.isEmpty, membership.isAssigned else { return }
    context.log.error(
      "log truncated or topic recreated; reading from its start",
      ["partitions": remade.map { "\($0)" }.joined(separator: " ")])
    for partition in remade {
      offsets.forget(source(partition))
      commits.forget(partition)
    }
    steps += membership.remade(remade, now: now)
  }

  private mutating func take(_ event: GroupEvent, _ now: UInt64) {
    switch event {
    case .assigned(let partitions): steps += membership.assigned(partitions, now: now)
    case .revoked(let partitions, let isLost):
      context.log.info(
        "partitions revoked", ["count": "\(partitions.count)", "lost": "\(isLost)"])
      if isLost { counters.add(.assignmentsLost) }
      steps += membership.revoked(isLost: isLost, now: now)
    case .offsetsCommitted(let results, let error): commits.answered(results, error)
    case .error(let error): context.log.warning("Kafka reported an error", ["error": "\(error)"])
    case .fatal(let error): failure = failure ?? ServiceFailure("\(error)")
    }
  }

  // MARK: Steps

  private mutating func perform(
    _ step: Membership<TopicPartition>.Step, _ now: UInt64
  ) -> Task? {
    switch step {
    case .begin(let partitions, let atFirstRecord):
      return begin(partitions, atFirstRecord, now) ? .begun(partitions) : nil
    case .drain(_, let isLost):
      mustCloseQueues = true
      return .drain(isLost: isLost)
    case .abandon: return .abandon
    case .release(let isCommitting, let isUnassigning):
      release(isCommitting, isUnassigning, now)
      return .released
    case .leave:
      consumer.close(timeoutMilliseconds: context.signals.isHurrying ? 1_000 : 10_000)
      alarm?.close()
      return nil
    }
  }

  private mutating func begin(
    _ partitions: [TopicPartition], _ atFirstRecord: Set<TopicPartition>, _ now: UInt64
  ) -> Bool {
    queues = partitions.map { consumer.openQueue($0, wakeup: wakeup) }
    do throws(KafkaError) {
      // librdkafka looks the committed offsets up, as often as the coordinator needs to be asked.
      try consumer.assign(
        partitions.map {
          PartitionStart($0, offset: atFirstRecord.contains($0) ? PartitionStart.firstRecord : nil)
        })
    } catch {
      counters.add(.beginningsFailed)
      context.log.warning("cannot begin the partitions; retrying", ["error": "\(error)"])
      mustCloseQueues = true
      closeQueues()
      membership.began(false, now: now)
      return false
    }
    offsets.begin(partitions.map(source))
    commits.begin(partitions, epoch: offsets.epoch)
    alarm?.assigned(partitions.filter { !atFirstRecord.contains($0) })
    membership.began(true, now: now)
    context.log.info("partitions assigned", ["count": "\(partitions.count)"])
    notePartitions(partitions.count)
    context.reportReady()
    return true
  }

  private func notePartitions(_ count: Int) {
    guard plan.needsPartitions else { return }
    context.status.set("partitions", obstacle: count == 0 ? "has no partitions" : nil)
  }

  private mutating func release(_ isCommitting: Bool, _ isUnassigning: Bool, _ now: UInt64) {
    if isCommitting { commits.last(consumer, now: now, progress) }
    commits.removeAll()
    offsets.removeAll()
    alarm?.released()
    doubted = [:]
    notePartitions(0)
    guard isUnassigning else { return }
    do throws(KafkaError) {
      try consumer.unassign()
    } catch {
      failure = failure ?? ServiceFailure("\(error)")
    }
  }

  /// Before the assignment changes, and after the service has let go of what it has not looked at.
  private mutating func closeQueues() {
    guard mustCloseQueues else { return }
    mustCloseQueues = false
    for queue in queues { queue.close() }
    queues = []
  }

  // MARK: Records

  /// Appends records, and messages about partitions, to the batch until that holds `most`; beginning with another
  /// partition each time, so that none is always last.
  ///
  /// - Returns: how many.
  package mutating func take(into batch: inout KafkaBatch, upTo most: Int) -> Int {
    guard membership.isAssigned else { return 0 }
    var taken = 0
    nextQueue &+= 1
    for step in queues.indices where batch.count < most {
      let queue = queues[(step + nextQueue) % queues.count]
      taken += queue.take(into: &batch, upTo: most - batch.count)
    }
    return taken
  }

  /// The place of a record: what `completed` is called with.
  package func source(_ record: KafkaRecord) -> Source {
    let topic =
      plan.topics.count == 1 ? 0 : plan.topics.firstIndex(of: record.topic) ?? 0
    return Source(topic: topic, partition: record.partition)
  }

  /// The assignment under which records are taken now.
  package var epoch: UInt32 { offsets.epoch }

  /// Takes a record in: only a new one is to be worked on, and completed then.
  package mutating func admit(_ source: Source, _ offset: Int64) -> Admission {
    switch offsets.received(source, offset) {
    case .new: return .new
    case .newAfter(let gap):
      let partition = partition(source)
      alarm?.jumped(partition, gap)
      return .new
    case .known(let expected):
      let partition = partition(source)
      guard alarm != nil else {
        offsets.restart(source, at: offset)
        commits.restart(partition, epoch: offsets.epoch)
        return .new
      }
      if doubted.updateValue(expected, forKey: partition) != expected {
        alarm?.assigned(partition, at: expected)
      }
      return .known
    }
  }

  /// A record of an assignment is done.
  package mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    offsets.completed(source, epoch: epoch, offset)
  }

  /// A partition was read to its end (`isEndOfPartition`).
  package mutating func ended(_ source: Source, at end: Int64) {
    guard let gap = offsets.ended(source, at: end) else { return }
    let partition = partition(source)
    alarm?.jumped(partition, gap)
  }

  private func partition(_ source: Source) -> TopicPartition {
    TopicPartition(topic: plan.topics[source.topic], partition: source.partition)
  }

  package func source(_ partition: TopicPartition) -> Source {
    Source(
      topic: plan.topics.firstIndex(of: partition.topic) ?? 0, partition: partition.partition)
  }

  private var progress: GroupCommits.Progress {
    offsets.progress.map {
      PartitionProgress(partition($0.partition), epoch: $0.epoch, committable: $0.committable)
    }
  }
}
