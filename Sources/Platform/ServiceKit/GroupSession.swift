// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
import Contract
public import EventLoop
public import Kafka
import Telemetry

/// A process's session in a consumer group: tells a `GroupMachine` what Kafka's client reports, and performs on the client
/// what that decides. It knows nothing of queues and records: `GroupMember` adds them for a service of one thread, the
/// sender's loops read on threads of their own.
///
/// Owned by one thread.
public struct GroupSession<Client: GroupClient> {
  /// What the owner has to do.
  public enum Task: Equatable {
    /// Answer with `begin`, unless `committed` finds no starting point. Comes again when that failed.
    case assigned(GroupAssignment<TopicPartition>)
    /// Take nothing more, finish what was taken until the deadline (monotonic milliseconds), and call `drained`. Comes
    /// again when there is less time than was said. `isLeaving`: nothing is assigned afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The time is up: give up what is not finished, and call `drained`.
    case abandon
    /// The partitions are given back.
    case unassigned
    /// The logs of these partitions are not what they were: forget what is remembered of them.
    case forget([TopicPartition])
  }

  private let context: ServiceContext
  private let plan: GroupPlan
  public let client: Client
  var machine: GroupMachine<TopicPartition>
  private var commits: GroupCommits
  private var alarm: RetentionAlarm?
  /// What the client reports for as long as a broker is away, many times per second.
  private var errors = RepeatedMessages()
  /// What is assigned and begun, and when its logs' ends are noted again.
  private var partitions: [TopicPartition] = []
  private var nextEnds: UInt64 = 0
  /// When the group took partitions back or gave some, whichever was last (monotonic milliseconds).
  private var heardAt: UInt64 = 0
  public private(set) var failure: ServiceFailure?

  /// - Parameter alarm: nil where losses are not watched.
  public init(
    _ plan: GroupPlan, _ client: Client, _ alarm: RetentionAlarm?, _ context: ServiceContext
  ) {
    self.plan = plan
    self.client = client
    self.alarm = alarm
    self.context = context
    machine = GroupMachine(plan)
    commits = GroupCommits(context, cost: plan.cost)
    context.group.join(plan.group, topics: plan.topics)
  }

  public var isAssigned: Bool { machine.isAssigned }
  /// Whether `drained` is owed.
  public var isDraining: Bool { machine.isDraining }
  public var isLeaving: Bool { machine.isLeaving }
  public var hasLeft: Bool { machine.hasLeft }

  // MARK: Turn; times in monotonic milliseconds

  /// What is to be done next; nil when there is nothing. To be called until it says so, every turn.
  ///
  /// - Parameter isIdle: of a service that leaves its offsets to the machine, whether nothing that was taken is unfinished.
  public mutating func next(now: UInt64, isIdle: Bool? = nil) -> Task? {
    tellSignals(now)
    if machine.wantsOutputs { machine.outputs(are: outputs) }
    if let ends = alarm?.drainAnswer() {
      for finding in machine.ends(ends, now: now) { alarm?.report(finding) }
    }
    while true {
      if machine.takesEvents, let event = client.nextEvent(timeoutMilliseconds: 0) {
        handle(event, now)
      } else if let action = machine.next(now: now, isIdle: isIdle) {
        if let task = perform(action, now) { return task }
      } else {
        noteEnds(now)
        return nil
      }
    }
  }

  private mutating func tellSignals(_ now: UInt64) {
    if failure != nil { machine.fail() }
    if context.signals.isStopping { machine.stop() }
    if context.signals.isFastShutdown { machine.fastShutdown(now: now) }
    for ended in errors.drainEnded(now: now) {
      context.log(ServiceKitLog.errorEnded, ["error": ended.text, "left_out": "\(ended.more)"])
    }
  }

  /// The partitions that hold what the group has made of its records.
  private var outputs: [TopicPartition] {
    plan.outputs.flatMap { topic in
      (0..<Int32(context.group.partitionCount(of: topic))).map {
        TopicPartition(topic: topic, partition: $0)
      }
    }
  }

  /// So that it is seen when an open transaction holds back what this process is to read.
  private mutating func noteEnds(_ now: UInt64) {
    guard now >= nextEnds, !partitions.isEmpty else { return }
    nextEnds = now + 1_000
    context.group.ends(client.knownEnds(partitions))
  }

  /// What was taken is finished, or given up.
  public mutating func drained(now: UInt64) { machine.drained(now: now) }

  /// The process can do nothing more: what is under way is given up and nothing is committed.
  public mutating func fail() { machine.fail() }

  private mutating func handle(_ event: GroupEvent, _ now: UInt64) {
    switch event {
    case .assigned(let partitions):
      context.rights.allowed(.read, .group(plan.group))
      heardAt = now
      machine.assigned(partitions, now: now)
    case .revoked(let partitions, let isLost):
      context.log(
        ServiceKitLog.partitionsRevoked, ["count": "\(partitions.count)", "lost": "\(isLost)"])
      if isLost { commits.counters.add(.assignmentsLost) }
      heardAt = now
      machine.revoked(isLost: isLost, now: now)
    case .offsetsCommitted(let results, let error):
      let (taken, refused) = commits.answered(results, error, now: now)
      machine.answered(taken, refused: refused)
    case .error(let error):
      if error.isOfGroupAuthorization { context.rights.refused(.read, .group(plan.group), error) }
      report(error, now)
    case .fatal(let error): if !rejoins(after: error, now) { fail(with: error) }
    }
  }

  /// Whether a new client takes the place of one that is of no further use.
  private mutating func rejoins(after error: KafkaError, _ now: UInt64) -> Bool {
    guard error.isFenced, let name = plan.instanceID, let delay = machine.fenced(now: now) else {
      return false
    }
    context.log(
      ServiceKitLog.nameTaken,
      ["instance_id": name, "rejoins_in_milliseconds": "\(delay)", "error": "\(error)"])
    heardAt = now
    return true
  }

  private mutating func fail(with error: KafkaError) {
    guard failure == nil else { return }
    var reason = "\(error)"
    if error.isFenced, let name = plan.instanceID {
      reason += "; another process uses --instance-id \(name): give each its own"
    }
    failure = ServiceFailure(reason)
    machine.fail()
    context.log(ServiceKitLog.placeLost, ["error": reason])
  }

  private mutating func report(_ error: KafkaError, _ now: UInt64) {
    guard let more = errors.admit(error.message, now: now) else { return }
    if error.isOfMembership {
      return context.log(
        ServiceKitLog.notJoined, ["error": "\(error)", "remedy": error.remedy ?? ""])
    }
    let repeated: KeyValuePairs = ["error": "\(error)", "left_out": "\(more)"]
    context.log(ServiceKitLog.kafkaError, more > 0 ? repeated : ["error": "\(error)"])
  }

  // MARK: Actions

  private mutating func perform(
    _ action: GroupMachine<TopicPartition>.Action, _ now: UInt64
  ) -> Task? {
    switch action {
    case .begin(let assignment): return .assigned(assignment)
    case .drain(let deadline, let isLost, let isLeaving):
      return .drain(deadline: deadline, isLost: isLost, isLeaving: isLeaving)
    case .abandon: return .abandon
    case .unassign(let isAwaited, let isOver):
      unassign(isAwaited, isOver, now)
      return .unassigned
    case .forget(let partitions): return .forget(partitions)
    case .commit(let plans, let isRepeat): commit(plans, isRepeat, now)
    case .commitLast(let plans):
      if let taken = commits.last(plans, client) {
        machine.answered(taken)
      } else {
        machine.failedToCommit()
      }
    case .askCommitted(let partitions): askCommitted(partitions)
    case .askEnds(let partitions): alarm?.ask(partitions)
    case .retire: client.retire()
    case .rejoin: rejoin(now)
    case .leave:
      client.close(timeoutMilliseconds: context.signals.isFastShutdown ? 1_000 : 10_000)
      alarm?.close()
    }
    return nil
  }

  private mutating func commit(
    _ plans: [PlannedCommit<TopicPartition>], _ isRepeat: Bool, _ now: UInt64
  ) {
    commits.report(refused: machine.refusedPartitions, isRepeat: isRepeat, now)
    if !plans.isEmpty, !commits.send(plans, client, now) { machine.failedToCommit() }
  }

  private mutating func askCommitted(_ partitions: [TopicPartition]) {
    guard let offsets = try? client.committed(partitions, timeoutMilliseconds: 1_000) else {
      return
    }
    machine.committed(offsets.map { ($0.partition, $0.offset) })
  }

  private mutating func unassign(_ isAwaited: Bool, _ isOver: Bool, _ now: UInt64) {
    commits.unassigned()
    if isAwaited {
      do throws(KafkaError) {
        try client.unassign()
      } catch {
        // Closing gives them back as well.
        if !hasLeft { failure = failure ?? ServiceFailure("\(error)") }
      }
    }
    // What is begun again at once was not given back, and who leaves has no partitions to speak of.
    guard isOver else { return }
    context.log(ServiceKitLog.partitionsGivenBack, ["milliseconds": "\(now - heardAt)"])
    notePartitions([])
  }

  private mutating func rejoin(_ now: UInt64) {
    context.log(ServiceKitLog.rejoining, ["instance_id": plan.instanceID ?? ""])
    commits.counters.add(.rejoined)
    do throws(KafkaError) {
      try client.rejoin()
    } catch {
      // The same settings made a client before: memory, threads or descriptors are short.
      context.log(ServiceKitLog.notRejoined, ["error": "\(error)"])
      machine.failedToRejoin(now: now)
    }
  }

  // MARK: Beginning

  /// What the group has committed for an assignment: nothing where the log is another one. Waits for the coordinator.
  ///
  /// - Returns: nil when it did not answer; then the assignment comes again.
  public mutating func committed(
    _ assignment: GroupAssignment<TopicPartition>, now: UInt64
  ) -> [CommittedOffset]? {
    do throws(KafkaError) {
      return try client.committed(assignment.partitions, timeoutMilliseconds: 5_000).map {
        assignment.atFirstRecord.contains($0.partition)
          ? CommittedOffset($0.partition, offset: nil) : $0
      }
    } catch {
      postpone(.offsetsNotRead, error, now)
      return nil
    }
  }

  /// The answer to `assigned`: begins to fetch.
  ///
  /// - Parameter sources: the places of the partitions, where the machine has the offsets of their records.
  /// - Returns: whether that was possible; otherwise the assignment comes again, and what `starts` says can be handed
  ///   over (`handOver`).
  public mutating func begin(
    _ starts: [GroupStart<TopicPartition>], sources: [Source] = [], now: UInt64
  ) -> Bool {
    machine.begin(starts, sources: sources)
    do throws(KafkaError) {
      try client.assign(starts.map(PartitionStart.init))
    } catch {
      // Whether this heals is for the group to say, which it does as an event.
      postpone(.partitionsNotStarted, error, now)
      return false
    }
    machine.began(true, now: now)
    let partitions = starts.map(\.partition)
    context.log(
      ServiceKitLog.partitionsAssigned,
      ["count": "\(partitions.count)", "milliseconds": "\(now - heardAt)"])
    context.log(
      ServiceKitLog.assignedPartitions,
      ["partitions": partitions.map { "\($0)" }.joined(separator: " ")])
    notePartitions(partitions)
    context.reportReady()
    return true
  }

  private mutating func postpone(_ event: ServiceKitLog, _ error: KafkaError, _ now: UInt64) {
    commits.counters.add(.beginningsFailed)
    context.log(event, ["error": "\(error)"])
    machine.began(false, now: now)
  }

  private mutating func notePartitions(_ partitions: [TopicPartition]) {
    self.partitions = partitions
    context.group.assigned(partitions)
    guard plan.needsPartitions else { return }
    context.status.set("partitions", obstacle: partitions.isEmpty ? "has no partitions" : nil)
  }

  // MARK: Progress

  /// How far partitions are done. What is said of an earlier assignment changes nothing.
  public mutating func note(_ progress: [PartitionProgress<TopicPartition>]) {
    machine.note(progress)
  }

  /// After `unassigned`, or when an assignment could not be begun: what is done in the partitions goes into `memory`. What
  /// is not handed over is forgotten with the next assignment.
  public mutating func handOver(to memory: inout CompletionMemory<TopicPartition>) {
    machine.handOver(to: &memory)
  }

  /// Offsets did not come.
  public mutating func jumped(_ partition: TopicPartition, epoch: UInt32, _ offsets: Range<Int64>) {
    machine.jumped(partition, epoch: epoch, offsets)
  }

  /// Offsets below one that was read came again.
  public mutating func wentBack(_ partition: TopicPartition, epoch: UInt32, from expected: Int64) {
    machine.wentBack(partition, epoch: epoch, from: expected)
  }
}

extension PartitionStart {
  /// The same as a consumer is told.
  fileprivate init(_ start: GroupStart<TopicPartition>) {
    switch start.position {
    case .committed: self.init(start.partition, offset: nil)
    case .firstRecord: self.init(start.partition, offset: PartitionStart.firstRecord)
    case .offset(let offset): self.init(start.partition, offset: offset)
    }
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
