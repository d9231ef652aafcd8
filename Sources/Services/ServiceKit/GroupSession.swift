// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
import Diagnosis
public import EventLoop
public import Kafka
import Telemetry

/// A process's session in a consumer group: performs what `Membership` decides on a Kafka client, commits, and watches
/// for lost records. It knows nothing of queues and records: `GroupMember` adds them for a service of one thread, the
/// sender's loops read on threads of their own.
///
/// Nothing here waits for what is under way: while the process drains, its turns go on, and it says when it is done.
/// Owned by one thread.
public struct GroupSession<Client: GroupClient> {
  /// What the owner has to do.
  public enum Task: Equatable {
    /// Answer with `begin`, unless `committed` finds no starting point. Comes again when that failed.
    case assigned(GroupAssignment)
    /// Take nothing more, finish what was taken until the deadline (monotonic milliseconds), and call `drained`. Comes
    /// again when there is less time than was said. `isLeaving`: nothing is assigned afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The time is up: give up what is not finished, and call `drained`.
    case abandon
    /// The partitions are given back.
    case released
    /// The logs of these partitions are not what they were: forget what is remembered of them.
    case forget([TopicPartition])
  }

  private let context: ServiceContext
  private let plan: GroupPlan
  public let client: Client
  private let counters = Counters<GroupCounter>()
  private var membership: Membership<TopicPartition>
  private var steps: [Membership<TopicPartition>.Step] = []
  private var fencing = FencedMember()
  private var commits: GroupCommits
  private var alarm: RetentionAlarm?
  /// What the client reports for as long as a broker is away, many times per second.
  private var errors = RepeatedMessages()
  /// Partitions whose offsets went back, and from where: their log may be another one.
  private var doubted: [TopicPartition: Int64] = [:]
  /// What is still to be told with `forget`.
  private var forgotten: [TopicPartition] = []
  private var epoch: UInt32 = 0
  /// What is assigned and begun, and when its logs' ends are noted again.
  private var partitions: [TopicPartition] = []
  private var nextEnds: UInt64 = 0
  /// When the group took partitions back or gave some, whichever was last (monotonic milliseconds).
  private var heardAt: UInt64 = 0
  /// Why the group cannot be worked with any more.
  public private(set) var failure: ServiceFailure?

  /// - Parameter alarm: nil where losses are not watched.
  public init(
    _ plan: GroupPlan, _ client: Client, _ alarm: RetentionAlarm?, _ context: ServiceContext
  ) {
    self.plan = plan
    self.client = client
    self.alarm = alarm
    self.context = context
    membership = Membership(rebalancePatience: plan.rebalancePatience)
    commits = GroupCommits(context, interval: plan.commitInterval, cost: plan.cost)
    context.counters.add(counters)
    context.group.join(plan.group, topics: plan.topics)
  }

  /// Whether records are to be taken.
  public var isAssigned: Bool { membership.isAssigned }
  /// Whether `drained` is owed.
  public var isDraining: Bool { membership.isDraining }
  /// Whether nothing is begun any more.
  public var isLeaving: Bool { membership.isLeaving }
  /// Whether the process may end.
  public var hasLeft: Bool { membership.hasLeft && steps.isEmpty }
  /// Whether losses are watched.
  var watchesLosses: Bool { alarm != nil }

  // MARK: Turn; times in monotonic milliseconds

  /// What is to be done next; nil when there is nothing. To be called until it says so, every turn.
  public mutating func next(now: UInt64) -> Task? {
    while true {
      if steps.isEmpty { look(now) }
      if !forgotten.isEmpty {
        defer { forgotten = [] }
        return .forget(forgotten)
      }
      if steps.isEmpty, membership.takesEvents,
        let event = client.nextEvent(timeoutMilliseconds: 0)
      {
        take(event, now)
        continue
      }
      guard !steps.isEmpty else { break }
      if let task = perform(steps.removeFirst(), now) { return task }
    }
    if isCommitDue(now: now) { commits.turn(client, now: now) }
    noteEnds(now)
    return nil
  }

  /// So that it is seen when an open transaction holds back what this process is to read.
  private mutating func noteEnds(_ now: UInt64) {
    guard now >= nextEnds, !partitions.isEmpty else { return }
    nextEnds = now + 1_000
    context.group.ends(client.knownEnds(partitions))
  }

  /// What was taken is finished, or given up.
  public mutating func drained(now: UInt64) { steps += membership.drained(now: now) }

  /// The process can do nothing more: what is under way is given up and nothing is committed.
  public mutating func fail(now: UInt64) {
    steps += membership.stop(patience: plan.lostPatience, isLost: true, now: now)
  }

  private mutating func look(_ now: UInt64) {
    if membership.hasLeft { return }
    if failure != nil { fail(now: now) }
    if context.signals.isStopping {
      steps += membership.stop(patience: plan.stopPatience, now: now)
    }
    if context.signals.isFastShutdown { steps += membership.fastShutdown(now: now) }
    for ended in errors.drainEnded(now: now) {
      context.log.info(
        "Kafka no longer reports an error", ["error": ended.text, "left_out": "\(ended.more)"])
    }
    if steps.isEmpty { lookAtLogs(now) }
    if steps.isEmpty { steps = membership.tick(now: now) }
  }

  private mutating func take(_ event: GroupEvent, _ now: UInt64) {
    switch event {
    case .assigned(let partitions):
      context.rights.allowed(.read, .group(plan.group))
      heardAt = now
      steps += membership.assigned(partitions, now: now)
    case .revoked(let partitions, let isLost):
      context.log.info(
        "partitions revoked", ["count": "\(partitions.count)", "lost": "\(isLost)"])
      if isLost { counters.add(.assignmentsLost) }
      heardAt = now
      if isLost, plan.instanceID != nil {
        // Its client has forgotten who it is, and what it has still to commit would end it (`FencedMember`).
        steps += membership.expelled(patience: 0, delay: 0, now: now)
      } else {
        steps += membership.revoked(isLost: isLost, now: now)
      }
    case .offsetsCommitted(let results, let error):
      commits.answered(results, error, now: now)
    case .error(let error):
      if error.isOfGroupAuthorization { context.rights.refused(.read, .group(plan.group), error) }
      report(error, now)
    case .fatal(let error): if !rejoins(after: error, now) { fail(with: error) }
    }
  }

  /// Whether a new client takes the place of one that is of no further use.
  private mutating func rejoins(after error: KafkaError, _ now: UInt64) -> Bool {
    guard error.isFenced, let name = plan.instanceID, let delay = fencing.fenced(now: now) else {
      return false
    }
    context.log.warning(
      "told that another process has this member's name",
      ["instance_id": name, "rejoins_in_milliseconds": "\(delay)", "error": "\(error)"])
    heardAt = now
    steps += membership.expelled(patience: plan.lostPatience, delay: delay, now: now)
    return true
  }

  private mutating func fail(with error: KafkaError) {
    guard failure == nil else { return }
    var reason = "\(error)"
    if error.isFenced, let name = plan.instanceID {
      reason += "; another process uses --instance-id \(name): give each its own"
    }
    failure = ServiceFailure(reason)
    context.log.error("stopping: this member lost its place in the group", ["error": reason])
  }

  private mutating func report(_ error: KafkaError, _ now: UInt64) {
    guard let more = errors.admit(error.message, now: now) else { return }
    let repeated: KeyValuePairs = ["error": "\(error)", "left_out": "\(more)"]
    context.log.warning("Kafka reported an error", more > 0 ? repeated : ["error": "\(error)"])
  }

  // MARK: Steps

  private mutating func perform(
    _ step: Membership<TopicPartition>.Step, _ now: UInt64
  ) -> Task? {
    switch step {
    case .begin(let partitions, let atFirstRecord):
      epoch &+= 1
      return .assigned(
        GroupAssignment(partitions: partitions, atFirstRecord: atFirstRecord, epoch: epoch))
    case .drain(let deadline, let isLost, let isLeaving):
      return .drain(deadline: deadline, isLost: isLost, isLeaving: isLeaving)
    case .abandon: return .abandon
    case .release(let isCommitting, let isUnassigning):
      release(isCommitting, isUnassigning, now)
      return .released
    case .retire:
      client.retire()
      return nil
    case .rejoin:
      rejoin(now)
      return nil
    case .leave:
      client.close(timeoutMilliseconds: context.signals.isFastShutdown ? 1_000 : 10_000)
      alarm?.close()
      return nil
    }
  }

  private mutating func release(_ isCommitting: Bool, _ isUnassigning: Bool, _ now: UInt64) {
    if isCommitting { commits.last(client, now: now) }
    alarm?.released()
    doubted = [:]
    if isUnassigning { unassign() }
    // What is begun again at once was not given back, and who leaves has no partitions to speak of.
    guard steps.isEmpty || steps == [.retire] else { return }
    context.log.info("partitions given back", ["milliseconds": "\(now - heardAt)"])
    notePartitions([])
  }

  private mutating func rejoin(_ now: UInt64) {
    context.log.info("joining the group again", ["instance_id": plan.instanceID ?? ""])
    counters.add(.rejoined)
    do throws(KafkaError) {
      try client.rejoin()
    } catch {
      // The same settings made a client before: memory, threads or descriptors are short.
      context.log.warning("cannot join the group again; retrying", ["error": "\(error)"])
      steps += membership.expelled(patience: 0, delay: 1_000, now: now)
    }
  }

  private mutating func unassign() {
    do throws(KafkaError) {
      try client.unassign()
    } catch {
      // Closing gives them back as well.
      if !membership.hasLeft { failure = failure ?? ServiceFailure("\(error)") }
    }
  }

  // MARK: Beginning

  /// What the group has committed for an assignment: nothing where the log is another one. Waits for the coordinator.
  ///
  /// - Returns: nil when it did not answer; then the assignment comes again.
  public mutating func committed(
    _ assignment: GroupAssignment, now: UInt64
  ) -> [CommittedOffset]? {
    do throws(KafkaError) {
      return try client.committed(assignment.partitions, timeoutMilliseconds: 5_000).map {
        assignment.atFirstRecord.contains($0.partition)
          ? CommittedOffset($0.partition, offset: nil) : $0
      }
    } catch {
      postpone("cannot read the committed offsets; retrying", error, now)
      return nil
    }
  }

  /// The answer to `assigned`: begins to fetch.
  ///
  /// - Returns: whether that was possible; otherwise the assignment comes again, and what `starts` says can be handed
  ///   over (`handOver`).
  public mutating func begin(
    _ starts: [GroupStart], of assignment: GroupAssignment, now: UInt64
  ) -> Bool {
    commits.begin(starts, epoch: assignment.epoch)
    do throws(KafkaError) {
      try client.assign(starts.map(\.start))
    } catch {
      // Whether this heals is for the group to say, which it does as an event.
      postpone("cannot start the partitions; retrying", error, now)
      return false
    }
    watch(starts, assignment.atFirstRecord)
    membership.began(true, now: now)
    context.log.info(
      "partitions assigned",
      ["count": "\(assignment.partitions.count)", "milliseconds": "\(now - heardAt)"])
    context.log.debug(
      "assigned partitions",
      ["partitions": assignment.partitions.map { "\($0)" }.joined(separator: " ")])
    notePartitions(assignment.partitions)
    context.reportReady()
    return true
  }

  private mutating func postpone(_ problem: String, _ error: KafkaError, _ now: UInt64) {
    counters.add(.beginningsFailed)
    context.log.warning(problem, ["error": "\(error)"])
    membership.began(false, now: now)
  }

  private mutating func watch(_ starts: [GroupStart], _ remade: Set<TopicPartition>) {
    alarm?.assigned(starts.filter { $0.start.offset == nil }.map(\.start.partition))
    for start in starts {
      if let next = start.resume.next { alarm?.assigned(start.start.partition, at: next) }
      // Of the others the consumer looks the group's offset up, and the alarm as well; or their log is another one.
      if start.start.offset != nil, !remade.contains(start.start.partition) {
        alarm?.begins(start.start.partition, committed: start.committed)
      }
    }
  }

  private mutating func notePartitions(_ partitions: [TopicPartition]) {
    self.partitions = partitions
    context.group.assigned(partitions)
    guard plan.needsPartitions else { return }
    context.status.set("partitions", obstacle: partitions.isEmpty ? "has no partitions" : nil)
  }

  // MARK: Progress

  /// Whether it is time to note progress.
  public func isCommitDue(now: UInt64) -> Bool { membership.isAssigned && commits.isDue(now: now) }

  /// How far partitions are done. What is said of an earlier assignment changes nothing.
  public mutating func note(_ progress: [PartitionProgress<TopicPartition>]) {
    commits.note(progress)
  }

  /// After `released`, or when an assignment could not be begun: what is done in the partitions goes into `memory`. What
  /// is not handed over is forgotten with the next assignment.
  public mutating func handOver(to memory: inout CompletionMemory<TopicPartition>) {
    commits.handOver(to: &memory)
  }

  // MARK: Logs

  /// Offsets did not come.
  public mutating func jumped(
    _ partition: TopicPartition, epoch: UInt32, _ offsets: Range<Int64>
  ) {
    if epoch == self.epoch { alarm?.jumped(partition, offsets) }
  }

  /// Offsets below one that was read came again. That may be the same log, read again from its start, as after an
  /// answer that an offset is out of range: the broker is asked.
  public mutating func wentBack(
    _ partition: TopicPartition, epoch: UInt32, from expected: Int64
  ) {
    guard epoch == self.epoch, doubted.updateValue(expected, forKey: partition) != expected else {
      return
    }
    alarm?.assigned(partition, at: expected)
  }

  /// The first record of an assignment lies below the place where reading was to begin: the log starts again there.
  ///
  /// - Returns: false for an earlier assignment.
  public mutating func restarted(_ partition: TopicPartition, epoch: UInt32) -> Bool {
    guard epoch == self.epoch else { return false }
    commits.restart(partition, epoch: epoch)
    return true
  }

  /// The logs of these partitions are other ones than were read: everything is given back and begun again, they at
  /// their first records.
  public mutating func remade(_ partitions: [TopicPartition], now: UInt64) {
    guard !partitions.isEmpty, !membership.hasLeft else { return }
    context.log.error(
      "log truncated or topic recreated; reading from its start",
      ["partitions": partitions.map { "\($0)" }.joined(separator: " ")])
    // What was done in the old log says nothing about the new one, neither to the group nor to us.
    for partition in partitions { commits.forget(partition) }
    forgotten += partitions
    steps += membership.remade(Set(partitions), now: now)
  }

  private mutating func lookAtLogs(_ now: UInt64) {
    let client = self.client
    defer {
      for (partition, offsets) in alarm?.drainLosses() ?? [] { commits.lost(partition, offsets) }
    }
    guard let strange = alarm?.turn(client), !strange.isEmpty else { return }
    forgotten += strange
    remade(strange.filter { doubted[$0] != nil }, now: now)
  }
}

extension GroupSession<KafkaGroupConsumer> {
  /// Joins the group.
  ///
  /// - Parameter reportsEnds: whether queues tell when a partition was read to its end.
  public init(
    joining plan: GroupPlan, _ kafka: KafkaConfiguration, _ context: ServiceContext,
    reportsEnds: Bool, wakeup: Wakeup
  ) throws {
    let alarm = plan.watchesLosses ? try RetentionAlarm(context, plan, kafka, wakeup: wakeup) : nil
    let consumer = try KafkaGroupConsumer(
      kafka, group: plan.group, topics: plan.topics, instanceID: plan.instanceID,
      reportsEnds: reportsEnds, wakeup: wakeup)
    self.init(plan, consumer, alarm, context)
  }
}
