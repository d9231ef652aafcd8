// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka
import Pipeline
import ServiceKit

/// The sender's control thread: membership in the consumer group, commits, provider tokens, stop.
///
/// Rebalances arrive as events and the assignment changes only when this thread says so, so it first has
/// every loop let go of its partitions: taking records in parallel with a change loses some (librdkafka
/// 2.0.2), and what is in flight gets the time to finish and to be committed.
final class SenderControl {
  /// What a rebalance waits for answers at most: the whole group stands still meanwhile. An answer that takes
  /// longer is reported when it comes, and its record is sent again.
  static let rebalanceDrainMilliseconds: Int64 = 1_500
  private static let turnMilliseconds: Int32 = 100

  /// What a last commit waits for its answer at most.
  static let lastCommitMilliseconds: Int32 = 5_000

  let settings: SenderSettings
  let context: ServiceContext
  let kafka: KafkaConfiguration
  let consumer: KafkaGroupConsumer
  private let tokens: ProviderTokenFeed
  private let requests: TokenRequests
  private let inbox: Mailbox<ControlMessage>
  let loops: [Mailbox<LoopMessage>]
  let topics: TopicNames
  private let certificates: CertificateWatch
  private let heartbeat: Heartbeat
  let counters = Counters<SenderGroupCounter>()

  private var state = State.idle
  var epoch: UInt32 = 0
  var commits = CommitState<TopicPartition>()
  var memory = CompletionMemory<TopicPartition>()
  var loopDeal: LoopDeal<TopicPartition>
  var alarm: RetentionAlarm
  let rebuild: WindowRebuild
  /// Of the partitions that were given back and may come back.
  var windows = KeptWindows<TopicPartition>()
  /// What this process owns.
  var assigned: [TopicPartition] = []
  /// What the group has given to us and was not begun yet.
  private var pending: [TopicPartition]?
  /// Partitions whose offsets went back: their log may be another one.
  private var doubted: Set<TopicPartition> = []
  /// Partitions whose log is another one: they are begun at their first record, whatever is committed.
  var remade: Set<TopicPartition> = []
  private var nextAssign: UInt64 = 0
  /// When the group took partitions back or gave some, whichever was last (monotonic milliseconds).
  private(set) var heardAt: UInt64 = 0
  private var nextCommit: UInt64 = 0
  private var isHurried = false
  /// The group has taken everything back while the loops were finishing for a stop.
  private var isRevokedAtStop = false
  /// Why the service ends, when nobody asked it to.
  private var failure: KafkaError?

  private enum State {
    /// No partitions, or serving them.
    case idle
    case assigned
    /// Waiting for this many loops to give their partitions back; `resumes`: to begin them again at once.
    case releasing(loops: Int, lost: Bool, resumes: Bool)
    case stopping(loops: Int, lost: Bool)
    case stopped
  }

  init(
    _ settings: SenderSettings, _ context: ServiceContext, kafka: KafkaConfiguration,
    topics: TopicNames, consumer: KafkaGroupConsumer, tokens: KafkaTable, requests: TokenRequests,
    inbox: Mailbox<ControlMessage>, loops: [Mailbox<LoopMessage>]
  ) throws {
    self.settings = settings
    self.context = context
    self.kafka = kafka
    self.topics = topics
    self.consumer = consumer
    self.tokens = ProviderTokenFeed(tokens, settings.seal, context, counters: counters)
    self.requests = requests
    self.inbox = inbox
    self.loops = loops
    loopDeal = LoopDeal(loops: loops.count)
    rebuild = WindowRebuild(kafka, window: settings.dedupWindow, log: context.log)
    alarm = try RetentionAlarm(context, kafka, wakeup: inbox.wakeup)
    certificates = CertificateWatch(settings.certificates, context)
    heartbeat = context.status.heartbeat("control")
  }

  /// Runs until a stop was requested and every loop has ended.
  func run() throws(ServiceFailure) {
    context.counters.add(counters)
    do {
      let poller = try Poller(capacity: 8)
      try poller.add(inbox.wakeup.fd, token: 0, .readable)
      context.signals.subscribe(inbox.wakeup)
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: Self.turnMilliseconds, into: &ready)
        inbox.wakeup.clear()
        heartbeat.beat(MonotonicClock.milliseconds())
        try turn()
        if case .stopped = state { break }
      }
    } catch let error as ServiceFailure {
      throw error
    } catch {
      throw ServiceFailure("\(error)")
    }
    if let failure { throw ServiceFailure("\(failure)") }
  }

  private func turn() throws {
    for message in inbox.drain() { try take(message) }
    tokens.turn(tell) { requests.want($0) }
    while canChangeAssignment, let event = consumer.nextEvent(timeoutMilliseconds: 0) {
      try take(event)
    }
    requests.turn()
    if context.signals.takeReload() { reload() }
    certificates.turn()
    try commitIfDue()
    let strange = alarm.turn(consumer)
    for partition in strange { forgetLog(of: partition) }
    beginResume(strange.filter(doubted.contains))
    try assignIfDue()
    if context.signals.isStopping { beginStop() }
    if context.signals.isHurrying { hurry() }
  }

  /// A further rebalance waits in the queue until the loops have let go.
  private var canChangeAssignment: Bool {
    switch state {
    case .releasing, .stopped: false
    default: true
    }
  }

  // MARK: Loops

  private func take(_ message: ControlMessage) throws {
    switch message {
    case .progress(let progress): commits.note(progress)
    case .jumped(let jumps):
      for jump in jumps where jump.epoch == epoch { alarm.jumped(jump.partition, jump.offsets) }
    case .logRestarted(let partition, let epoch, let offset):
      logRestarted(partition, epoch: epoch, offset: offset)
    case .mustResume(let partition): beginResume([partition])
    case .wentBack(let partition, let epoch, let offset):
      guard epoch == self.epoch else { return }
      // The same log may be read again from its start, as after an answer that the offset is out of range.
      doubted.insert(partition)
      alarm.assigned(partition, at: offset)
    case .tokenWanted(let request): requests.want(request)
    case .released(let progress, let released):
      commits.note(progress)
      for kept in released { windows.keep(kept.partition, kept.window, next: kept.next) }
      guard case .releasing(let waiting, let lost, let resumes) = state else { return }
      if waiting > 1 {
        state = .releasing(loops: waiting - 1, lost: lost, resumes: resumes)
      } else {
        try finishRelease(lost: lost, resumes: resumes)
      }
    case .ended: try loopEnded()
    }
  }

  private func loopEnded() throws(ServiceFailure) {
    guard case .stopping(let waiting, let lost) = state else {
      throw ServiceFailure("a sender loop exited unexpectedly; see its last log line")
    }
    guard waiting <= 1 else {
      state = .stopping(loops: waiting - 1, lost: lost)
      return
    }
    if !lost { commitAtRevocation() }
    endRebuild()
    // A rebalance without an answer would keep the consumer from closing. Its queues are closed, so this can
    // only fail where closing does not matter.
    if isRevokedAtStop || pending != nil { try? consumer.unassign() }
    consumer.close(timeoutMilliseconds: context.signals.isHurrying ? 1_000 : 10_000)
    requests.close()
    alarm.close()
    state = .stopped
  }

  private func tell(_ message: LoopMessage) {
    for loop in loops { loop.post(message) }
  }

  /// Certificates, roots and the token key are read again. What cannot be used stays as it is.
  private func reload() {
    if let access = certificates.reload(settings) { tell(.access(access)) }
    tokens.reload(tell)
  }

  // MARK: The group

  private func take(_ event: GroupEvent) throws {
    switch event {
    case .assigned(let partitions):
      // While stopping this can only be the next generation of the group: it learns that we leave.
      guard !isStopping else { return }
      pending = partitions
      nextAssign = 0
      heardAt = MonotonicClock.milliseconds()
    case .revoked(_, let lost): revoked(lost: lost)
    case .offsetsCommitted(let results, let error):
      commits.answered(results.filter { $0.error == nil }.map { ($0.partition, $0.offset) })
      if let error { context.log.debug("commit refused; retrying", ["error": "\(error)"]) }
    case .error(let error): context.log.warning("Kafka reported an error", ["error": "\(error)"])
    case .fatal(let error): fail(error)
    }
  }

  private func revoked(lost: Bool) {
    context.log.info("partitions revoked", ["lost": "\(lost)"])
    if lost { counters.add(.assignmentsLost) }
    // What is lost belongs to somebody else already: nothing to wait for.
    let drain = lost ? 0 : UInt64(Self.rebalanceDrainMilliseconds)
    pending = nil
    heardAt = MonotonicClock.milliseconds()
    let deadline = heardAt + drain
    if case .stopping(let waiting, let wasLost) = state {
      // The group waits for us: the drain of a stop may take longer than a rebalance should.
      state = .stopping(loops: waiting, lost: wasLost || lost)
      isRevokedAtStop = true
      return tell(.stop(deadline: deadline))
    }
    beginRelease(deadline: deadline, lost: lost, resumes: false)
  }

  private func beginRelease(deadline: UInt64, lost: Bool, resumes: Bool) {
    rebuild.cancel()
    state = .releasing(loops: loops.count, lost: lost, resumes: resumes)
    tell(.release(deadline: deadline))
  }

  private func finishRelease(lost: Bool, resumes: Bool) throws {
    if !lost { commitAtRevocation() }
    commits.handOver(to: &memory)
    alarm.released()
    doubted = []
    try consumer.unassign()
    guard resumes else {
      context.log.info(
        "partitions given back", ["milliseconds": "\(MonotonicClock.milliseconds() - heardAt)"])
      assigned = []
      noteAssignment()
      remade = []
      state = .idle
      return
    }
    pending = assigned
    nextAssign = 0
    state = .idle
  }

  /// Begins what was assigned, and tries again each half second as long as no coordinator answers.
  private func assignIfDue() throws {
    let now = MonotonicClock.milliseconds()
    guard let partitions = pending, case .idle = state, now >= nextAssign,
      !context.signals.isStopping
    else { return }
    nextAssign = now + 500
    guard try assign(partitions) else { return }
    pending = nil
    state = .assigned
  }

  /// Everything is given back and begun again without the group noticing: the log of some partitions is another one
  /// than it was, and nothing of the old one may complete anything in the new one.
  private func beginResume(_ partitions: [TopicPartition]) {
    let isUnderWay: Bool
    switch state {
    case .assigned: isUnderWay = false
    case .releasing(_, _, resumes: true): isUnderWay = true
    default: return
    }
    for partition in partitions {
      context.log.error(
        "log truncated or topic recreated; reading from its start",
        ["partition": "\(partition)"])
      // What was done in the old log says nothing about the new one, neither to the group nor to us.
      forgetLog(of: partition)
      commits.forget(partition)
      remade.insert(partition)
    }
    guard !isUnderWay, !partitions.isEmpty else { return }
    let drain = UInt64(Self.rebalanceDrainMilliseconds)
    beginRelease(deadline: MonotonicClock.milliseconds() + drain, lost: false, resumes: true)
  }

  /// The consumer is of no further use, as when another process has taken its instance id: what is in flight is
  /// finished and reported, and not committed.
  private func fail(_ error: KafkaError) {
    guard failure == nil else { return }
    failure = error
    context.log.error("stopping: this member lost its place in the group", ["error": "\(error)"])
    beginStop(lost: true)
  }

  private func beginStop(lost: Bool = false) {
    guard !isStopping else { return }
    if case .releasing = state { return }
    rebuild.cancel()
    state = .stopping(loops: loops.count, lost: lost)
    // What is lost is another process's to send.
    let drain =
      lost
      ? min(settings.drainTimeoutMilliseconds, Self.rebalanceDrainMilliseconds)
      : settings.drainTimeoutMilliseconds
    tell(.stop(deadline: MonotonicClock.milliseconds() + UInt64(drain)))
  }

  /// A second signal: what is in flight is left to its next owner, and what is done is committed.
  private func hurry() {
    guard !isHurried else { return }
    if case .stopping = state {
      isHurried = true
      tell(.stop(deadline: MonotonicClock.milliseconds()))
    } else if case .releasing = state {
      isHurried = true
      tell(.hurryRelease(deadline: MonotonicClock.milliseconds()))
    }
  }

  private var isStopping: Bool {
    switch state {
    case .stopping, .stopped: true
    default: false
    }
  }

  // MARK: Commits

  private func commitIfDue() throws {
    let now = MonotonicClock.milliseconds()
    guard now >= nextCommit, case .assigned = state else { return }
    nextCommit = now + UInt64(settings.commitIntervalMilliseconds)
    let due = commits.due(now: now).map(\.request)
    guard !due.isEmpty else { return }
    do throws(KafkaError) {
      try consumer.commitAsync(due)
    } catch {
      commits.refused()
      context.log.warning("cannot commit; retrying", ["error": "\(error)"])
    }
  }

  /// Commits what is done while the partitions are still ours. A refusal costs duplicates, not records.
  private func commitAtRevocation() {
    let due = commits.everything(now: MonotonicClock.milliseconds()).map(\.request)
    guard !due.isEmpty else { return }
    let patience = context.signals.isHurrying ? 500 : Self.lastCommitMilliseconds
    do throws(KafkaError) {
      let results = try consumer.commit(due, timeoutMilliseconds: patience)
      commits.answered(results.filter { $0.error == nil }.map { ($0.partition, $0.offset) })
    } catch {
      commits.refused()
      context.log.warning(
        "last offsets not committed; the next owner sends the records above them again",
        ["error": "\(error)"])
    }
  }
}
