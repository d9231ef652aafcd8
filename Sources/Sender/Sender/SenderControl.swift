// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import SenderDecisions
import ServiceKit
import Telemetry

/// The sender's control thread: what the loops and the group have to say to each other, provider tokens, certificates.
///
/// The assignment changes only when every loop is drained (`GroupMachine`): taking records in
/// parallel with a change loses some (librdkafka 2.0.2), and what is in flight gets the time to finish and to be
/// committed.
final class SenderControl {
  /// What a rebalance waits for answers at most: the whole group stands still meanwhile. An answer that takes
  /// longer is reported when it comes, and its record is sent again.
  static let rebalanceDrainMilliseconds: Int64 = 1_500
  private static let turnMilliseconds: Int32 = 100

  private let settings: SenderSettings
  private let context: ServiceContext
  private var group: GroupSession<KafkaGroupConsumer>
  private var planner: PartitionPlanner
  private let tokens: ProviderTokenFeed
  private let pauses: PauseFeed
  private let devices: DeviceFeed
  private let requests: TokenRequests
  private let inbox: Mailbox<ControlMessage>
  private let loops: [Mailbox<LoopMessage>]
  private let certificates: CertificateWatch
  private let loop: ServiceLoop
  private let counters = Counters<SenderMetrics>()
  private var coverage: CoverageWarning
  private var statistics: StatisticsWatch
  private let topics: TopicNames
  private var totals = PartitionTotals()

  init(
    _ settings: SenderSettings, _ context: ServiceContext, kafka: KafkaConfiguration,
    topics: TopicNames, tokens: FollowedTopic, controls: FollowedTopic, devices: FollowedTopic,
    requests: TokenRequests, inbox: Mailbox<ControlMessage>, loops: [Mailbox<LoopMessage>],
    coverage: CoverageWarning
  ) throws {
    self.coverage = coverage
    statistics = StatisticsWatch(context.log)
    self.settings = settings
    self.topics = topics
    self.context = context
    self.requests = requests
    self.inbox = inbox
    self.loops = loops
    self.tokens = ProviderTokenFeed(tokens, settings.seal, context, counters: counters)
    pauses = PauseFeed(controls, topics.lanes, context, counters: counters)
    self.devices = DeviceFeed(devices)
    planner = PartitionPlanner(
      settings, topics, loops,
      WindowRebuild(kafka, window: settings.dedupWindow, log: context.log), context.log, counters)
    group = try GroupSession(
      joining: Self.plan(settings, topics), kafka, context, reportsEnds: false,
      wakeup: inbox.wakeup)
    certificates = CertificateWatch(settings, context)
    loop = try ServiceLoop("control", context, wakeup: inbox.wakeup)
  }

  /// What the senders' group reads.
  static func subscribed(_ names: TopicNames) -> [String] {
    names.notifications + names.retries
  }

  private static func plan(_ settings: SenderSettings, _ names: TopicNames) -> GroupPlan {
    var plan = GroupPlan(
      group: names.group(.sender), topics: subscribed(names), instanceID: settings.instanceID,
      commitInterval: Int64(settings.fixed.commitInterval),
      rebalancePatience: UInt64(rebalanceDrainMilliseconds),
      stopPatience: UInt64(settings.drainTimeoutMilliseconds),
      cost: "sends the records above them again")
    plan.outputs = [names.receipts]
    // What is in flight is another process's to send by now, but its answers are worth a report.
    plan.lostPatience = UInt64(
      min(settings.drainTimeoutMilliseconds, rebalanceDrainMilliseconds))
    return plan
  }

  /// Runs until a stop was requested and every loop has ended.
  func run() throws(ServiceFailure) {
    context.counters.add(counters)
    do {
      while !group.hasLeft {
        _ = loop.wait(Self.turnMilliseconds)
        try turn()
      }
    } catch {
      throw ServiceFailure(error)
    }
    requests.close()
    if let failure = group.failure { throw failure }
  }

  private func turn() throws {
    for message in inbox.drain() { try handle(message) }
    tokens.turn(tell) { requests.want($0) }
    pauses.turn(tell)
    devices.turn(tell)
    countPartitions()
    // Nothing is begun before it is known what is paused, and whose devices have changed.
    let now = MonotonicClock.milliseconds()
    let isReady = [
      pauses.topic.isReady(now, context.log, orSays: SenderLog.pausesNotRead),
      devices.topic.isReady(now, context.log, orSays: SenderLog.devicesNotRead),
    ].allSatisfy(\.self)
    if isReady || context.signals.isStopping { try followGroup() }
    statistics.note(group.client.drainStatistics(), now: MonotonicClock.milliseconds())
    requests.turn()
    let (isAsked, haveChanged) = (context.signals.consumeReload(), certificates.turn())
    if isAsked || haveChanged { reload(isAsked: isAsked) }
  }

  /// Tells the loops how many partitions there are, when that has changed.
  private func countPartitions() {
    let counted = PartitionTotals(
      ofLanes: topics.lanes.all.map { context.group.partitionCount(of: topics.notifications($0)) },
      ofRetries: topics.retries.reduce(0) { $0 + context.group.partitionCount(of: $1) })
    guard counted != totals else { return }
    totals = counted
    tell(.partitions(counted))
  }

  private func tell(_ message: LoopMessage) {
    for loop in loops { loop.post(message) }
  }

  /// Certificates, roots and the token key are read again. What cannot be used stays as it is.
  private func reload(isAsked: Bool) {
    if let access = certificates.reload(isAsked: isAsked) { tell(.access(access)) }
    guard certificates.isTokenKeyDue(isAsked: isAsked) else { return }
    certificates.noteTokenKey(tokens.reload(tell), isAsked: isAsked)
  }

  // MARK: The group

  private func followGroup() throws {
    while let task = group.next(now: MonotonicClock.milliseconds()) {
      switch task {
      case .assigned(let assignment): try begin(assignment)
      case .drain(let deadline, let isLost, let isLeaving):
        drain(until: deadline, isLost: isLost, isLeaving: isLeaving)
      // The loops have the deadline, and keep it.
      case .abandon: break
      case .unassigned:
        group.handOver(to: &planner.assignments.memory.completions)
        counters.set(.partitionsAssigned, 0)
        if group.isLeaving { planner.end() }
      case .forget(let partitions): planner.forget(partitions)
      }
    }
  }

  /// Begins what the group has given to this process, unless the coordinator does not say where.
  private func begin(_ assignment: GroupAssignment<TopicPartition>) throws {
    let now = MonotonicClock.milliseconds()
    guard let committed = group.committed(assignment, now: now) else { return }
    let unread = committed.filter { $0.offset == nil }.map(\.partition)
    let mapped = committed.filter { !$0.metadata.isEmpty }.map(\.partition)
    let plan = planner.plan(
      committed, logStarts: group.client.logStarts(unread, timeoutMilliseconds: 2_000),
      logEnds: group.client.logEnds(mapped, timeoutMilliseconds: 2_000),
      epoch: assignment.epoch, now: MonotonicClock.milliseconds(), open: group.client.openQueue)
    guard group.begin(plan.starts, now: MonotonicClock.milliseconds()) else {
      plan.close()
      return group.handOver(to: &planner.assignments.memory.completions)
    }
    try planner.begin(plan)
    counters.set(.partitionsAssigned, assignment.partitions.count)
    coverage.note(
      assignment.partitions, of: context.group.partitionCount(of:), context.log)
  }

  /// Has the loops drain; or gives them less time than they were told.
  private func drain(until deadline: UInt64, isLost: Bool, isLeaving: Bool) {
    let begins = planner.drain(isLost: isLost)
    if isLeaving {
      tell(.stop(deadline: deadline))
    } else {
      tell(begins ? .drain(deadline: deadline) : .shortenDrain(deadline: deadline))
    }
  }

  private func loopDrained() {
    if planner.assignments.loopDrained() { group.drained(now: MonotonicClock.milliseconds()) }
  }

  // MARK: Loops

  private func handle(_ message: ControlMessage) throws {
    switch message {
    case .progress(let progress): group.note(progress)
    case .jumped(let jumps):
      for jump in jumps { group.jumped(jump.partition, epoch: jump.epoch, jump.offsets) }
    case .wentBack(let partition, let epoch, let offset):
      group.wentBack(partition, epoch: epoch, from: offset)
    case .tokenWanted(let request): requests.want(request)
    case .drained(let progress, let windows):
      group.note(progress)
      planner.keep(windows)
      loopDrained()
    case .ended:
      guard group.isLeaving, planner.assignments.isDraining else {
        throw ServiceFailure("a sender loop exited unexpectedly; see its last log line")
      }
      loopDrained()
    }
  }
}
