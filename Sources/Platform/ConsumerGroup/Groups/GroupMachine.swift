// SPDX-License-Identifier: Apache-2.0

/// The state machine of a consumer group member, from one assignment to the next: `revoke → drain → commit → unassign`.
///
/// Events from Kafka's client and the service go in; `next` returns actions one by one, and each must be performed
/// before the next call. It combines the decisions about membership (`Membership`), commits (`CommitState`) and lost
/// records (`LogWatch`). A service that processes records on the thread that owns it also keeps its offsets here
/// (`received`, `completed`); the sender's loops have ledgers of their own and report their progress (`note`).
///
/// It never blocks: while the process drains, its turns continue, and it reports when it is done. Times are in
/// monotonic milliseconds.
public struct GroupMachine<Partition: Hashable & Sendable>: Sendable {
  public enum Action: Equatable, Sendable {
    // Actions for the service.

    /// Find the start offsets of these partitions: call `begin` and then `began`, or `began(false)` alone.
    case begin(GroupAssignment<Partition>)
    /// Take no more records, finish those taken until the deadline, and call `drained`. Repeated if the deadline moves
    /// forward. `isLeaving`: nothing is assigned afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The deadline has passed: give up unfinished records, and call `drained`.
    case abandon
    /// The partitions no longer belong to this process; call the client's `unassign` if `isAwaited`. `isOver`: they are
    /// not begun again at once either.
    case unassign(isAwaited: Bool, isOver: Bool)
    /// These topics were truncated or recreated: forget their state.
    case forget([Partition])

    // Actions for Kafka's client.

    /// Commit these, if there are any; the result comes as an event. `isRepeat`: the last commit was not answered.
    case commit([PlannedCommit<Partition>], isRepeat: Bool)
    /// Commit these and wait for the result: the partitions are still ours.
    case commitLast([PlannedCommit<Partition>])
    /// Fetch the committed offsets from the group's coordinator (`committed`); repeated if it does not answer.
    case askCommitted([Partition])
    /// Fetch the start and end offsets of these logs (`ends`).
    case askEnds([Partition])
    /// The client can no longer be used: end it.
    case retire
    /// Rejoin the group with a new client; call `failedToRejoin` if that is impossible.
    case rejoin
    /// Leave the group. No action follows.
    case leave
  }

  private let plan: GroupPlan
  /// For a service that processes records on one thread. Stored before everything that depends on `Partition`: so its
  /// location is fixed, and need not be looked up in the type's metadata for each record.
  private var book: OffsetBook
  private var membership: Membership<Partition>
  private var steps: [Membership<Partition>.Step] = []
  private var fencing = FencedMember()
  private var commits = CommitState<Partition>()
  private var nextCommit: UInt64 = 0
  private var watch: LogWatch<Partition>?
  /// The partitions that the group writes to, as far as known.
  private var outputs: [Partition] = []
  /// Partitions whose offsets went back: their log may have been replaced.
  private var doubted: Set<Partition> = []
  private var stepsBack: [Partition: StepsBack] = [:]
  /// The partitions of a pending `forget`.
  private var forgotten: [Partition] = []
  private var assignment = GroupAssignment<Partition>(partitions: [], atFirstRecord: [], epoch: 0)
  private var starts: [GroupStart<Partition>] = []
  private var isStopping = false
  private var hasFailed = false

  // Also for a service that processes records on one thread.

  private var names: [Source: Partition] = [:]
  /// True if the service was told to drain, and that the deadline has passed.
  private var isToldToDrain = false
  private var isAbandoned = false

  public init(_ plan: GroupPlan) {
    self.plan = plan
    membership = Membership(rebalancePatience: plan.rebalancePatience)
    watch = plan.watchesLosses ? LogWatch(hasOutputs: !plan.outputs.isEmpty) : nil
    book = OffsetBook(topics: plan.topics.count)
  }

  // MARK: Questions

  public var isAssigned: Bool { membership.isAssigned }
  /// True if the service must still call `drained`.
  public var isDraining: Bool { membership.isDraining }
  /// True if the member is leaving and begins nothing more.
  public var isLeaving: Bool { membership.isLeaving }
  public var hasLeft: Bool { membership.hasLeft && steps.isEmpty }
  /// True if the group's next event may be passed in: another change of the assignment waits until this one is
  /// complete.
  public var takesEvents: Bool {
    guard steps.isEmpty, forgotten.isEmpty, membership.takesEvents else { return false }
    return membership.isLeaving || !isStopping && !hasFailed
  }
  /// True while the partitions that the group writes to must be named (`outputs(are:)`).
  public var wantsOutputs: Bool { watch?.wantsOutputs == true }
  /// The number of partitions whose last commit was refused; it is repeated until it succeeds.
  public var refusedPartitions: Int { commits.refusedPartitions.count }

  // MARK: The next action

  /// The next action; nil when nothing is left to do in this turn.
  ///
  /// - Parameter isIdle: for a service that keeps its offsets here, whether no record is unfinished: then it is
  ///   drained. Other services call `drained`.
  public mutating func next(now: UInt64, isIdle: Bool? = nil) -> Action? {
    if isToldToDrain, let isIdle, isIdle || isAbandoned { drained(now: now) }
    while true {
      if steps.isEmpty, !membership.hasLeft {
        if let question = watch?.coordinatorQuestion(now: now) { return .askCommitted(question) }
        if let question = watch?.question(outputs: outputs, now: now) { return .askEnds(question) }
        look(now)
      }
      if !forgotten.isEmpty {
        defer { forgotten = [] }
        return .forget(forgotten)
      }
      guard !steps.isEmpty else { return nextCommit(now) }
      if let action = action(of: steps.removeFirst(), now) { return action }
    }
  }

  private mutating func look(_ now: UInt64) {
    if hasFailed {
      steps += membership.stop(patience: plan.lostPatience, isLost: true, now: now)
    } else if isStopping {
      steps += membership.stop(patience: plan.stopPatience, now: now)
    }
    if steps.isEmpty { steps = membership.tick(now: now) }
  }

  /// Called every interval, even when there is nothing to commit: refusals may need a report.
  private mutating func nextCommit(_ now: UInt64) -> Action? {
    guard membership.isAssigned, now >= nextCommit else { return nil }
    nextCommit = now + UInt64(plan.commitInterval)
    let isRepeat = commits.isUnanswered(now: now)
    noteBook()
    return .commit(commits.due(now: now), isRepeat: isRepeat)
  }

  private mutating func action(of step: Membership<Partition>.Step, _ now: UInt64) -> Action? {
    switch step {
    case .begin(let partitions, let atFirstRecord):
      assignment = GroupAssignment(
        partitions: partitions, atFirstRecord: atFirstRecord, epoch: assignment.epoch &+ 1)
      return .begin(assignment)
    case .drain(let deadline, let isLost, let isLeaving):
      isToldToDrain = true
      return .drain(deadline: deadline, isLost: isLost, isLeaving: isLeaving)
    case .abandon:
      isAbandoned = true
      return .abandon
    case .commit:
      noteBook()
      let last = commits.everything(now: now)
      return last.isEmpty ? nil : .commitLast(last)
    case .unassign(let isAwaited):
      watch?.unassigned()
      // Of offsets that are kept here nobody takes over what was not committed, and a later commit would set back the
      // group's own.
      if !names.isEmpty { commits.removeAll() }
      (doubted, stepsBack, names) = ([], [:], [:])
      book.removeAll()
      return .unassign(isAwaited: isAwaited, isOver: steps.isEmpty || steps == [.retire])
    case .retire: return .retire
    case .rejoin: return .rejoin
    case .leave: return .leave
    }
  }

  // MARK: Events of the group

  public mutating func assigned(_ partitions: [Partition], now: UInt64) {
    steps += membership.assigned(partitions, now: now)
  }

  /// The group revokes all partitions.
  ///
  /// - Parameter isLost: whether they already belong to other members. A static member then needs a new client: the old
  ///   one has lost its member id, and its pending commits would be fenced (`FencedMember`).
  public mutating func revoked(isLost: Bool, now: UInt64) {
    steps +=
      isLost && plan.instanceID != nil
      ? membership.expelled(patience: 0, delay: 0, now: now)
      : membership.revoked(isLost: isLost, now: now)
  }

  /// The coordinator has fenced this member: another process uses its instance id.
  ///
  /// - Returns: the delay in milliseconds after which a new client joins; nil if the client can no longer be used, and
  ///   `fail` must be called.
  public mutating func fenced(now: UInt64) -> UInt64? {
    guard plan.instanceID != nil, let delay = fencing.fenced(now: now) else { return nil }
    steps += membership.expelled(patience: plan.lostPatience, delay: delay, now: now)
    return delay
  }

  /// No new client could be created: memory, threads or descriptors are short.
  public mutating func failedToRejoin(now: UInt64) {
    steps += membership.expelled(patience: 0, delay: 1_000, now: now)
  }

  /// The coordinator answered a commit: these offsets were accepted, and those of other partitions refused.
  public mutating func answered(
    _ taken: [(partition: Partition, offset: Int64)], refused: [Partition] = []
  ) {
    commits.answered(taken, refused: refused)
  }

  /// A commit could not be sent, or the coordinator did not answer the last one.
  public mutating func failedToCommit() { commits.refused() }

  // MARK: Events of the service

  public mutating func stop() { isStopping = true }

  /// A second stop signal arrived: unfinished records get no more time.
  public mutating func fastShutdown(now: UInt64) { steps += membership.fastShutdown(now: now) }

  /// The process cannot continue: unfinished records are given up and nothing is committed.
  public mutating func fail() { hasFailed = true }

  /// The response to `drain` or `abandon`: the records taken are finished or given up.
  public mutating func drained(now: UInt64) {
    (isToldToDrain, isAbandoned) = (false, false)
    steps += membership.drained(now: now)
  }

  /// The start offsets of the assignment, before it is known whether it can begin.
  ///
  /// - Parameter sources: for a service that keeps its offsets here, the sources of the partitions in the same order.
  public mutating func begin(_ starts: [GroupStart<Partition>], sources: [Source] = []) {
    self.starts = starts
    commits.removeAll()
    for start in starts {
      commits.begin(
        start.partition, epoch: assignment.epoch, committed: start.committed, start.resume,
        isNews: start.isNews)
    }
    names = Dictionary(
      zip(sources, starts.map(\.partition)), uniquingKeysWith: { first, _ in first })
  }

  /// The response to `begin`. On failure the assignment is retried; what `begin` was given can be handed over.
  public mutating func began(_ isDone: Bool, now: UInt64) {
    if isDone {
      watch?.begin(starts, remade: assignment.atFirstRecord)
      if !names.isEmpty { book.begin(Array(names.keys), epoch: assignment.epoch) }
    }
    starts = []
    membership.began(isDone, now: now)
  }

  // MARK: Progress

  /// Reports the progress of partitions. Reports for an earlier assignment are ignored.
  public mutating func note(_ progress: [PartitionProgress<Partition>]) { commits.note(progress) }

  /// After `unassign`, or when an assignment could not begin: moves the partitions' completed offsets into `memory`.
  /// What is not handed over is lost with the next assignment.
  public mutating func handOver(to memory: inout CompletionMemory<Partition>) {
    commits.handOver(to: &memory)
  }

  private mutating func noteBook() {
    commits.note(
      book.progress.compactMap { item in
        names[item.partition].map {
          PartitionProgress($0, epoch: item.epoch, committable: item.committable)
        }
      })
  }

  // MARK: Records of a service that leaves its offsets here

  /// The epoch of the current assignment; 0 for none.
  public var epoch: UInt32 { book.epoch }

  /// Notes that a record was read.
  ///
  /// - Returns: whether it must be processed, and then completed. If not, it was taken before, or its log may have been
  ///   replaced.
  public mutating func received(_ source: Source, _ offset: Int64) -> Bool {
    let arrival = book.received(source, offset)
    return arrival == .new || isWanted(arrival, source, offset)
  }

  /// Handles unexpected offsets, apart from the fast path for each record.
  @inline(never)
  private mutating func isWanted(
    _ arrival: OffsetBook.Arrival, _ source: Source, _ offset: Int64
  ) -> Bool {
    switch arrival {
    case .new: return true
    case .newAfter(let gap):
      if let partition = names[source] { watch?.jumped(partition, gap) }
      return true
    case .known(let expected):
      guard let partition = names[source] else { return false }
      guard watch != nil else {
        book.restart(source, at: offset)
        restarted(partition, epoch: epoch)
        return true
      }
      if stepsBack[partition, default: StepsBack()].isOne(offset, below: expected) {
        wentBack(partition, epoch: epoch, from: expected)
      }
      return false
    }
  }

  /// Notes that a record of an assignment was completed.
  public mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    book.completed(source, epoch: epoch, offset)
  }

  public mutating func ended(_ source: Source, at end: Int64) {
    guard let partition = names[source] else { return }
    commits.ended(partition, at: end)
    guard let gap = book.ended(source, at: end) else { return }
    watch?.jumped(partition, gap)
  }

  // MARK: Logs

  public mutating func jumped(_ partition: Partition, epoch: UInt32, _ offsets: Range<Int64>) {
    if epoch == assignment.epoch { watch?.jumped(partition, offsets) }
  }

  /// Notes offsets that went back. It may be the same log, read again from its start, as after an out-of-range error:
  /// the broker is asked each time.
  public mutating func wentBack(_ partition: Partition, epoch: UInt32, from expected: Int64) {
    guard epoch == assignment.epoch else { return }
    doubted.insert(partition)
    watch?.doubts(partition, at: expected)
  }

  /// The log starts again at its first record, below the start offset.
  mutating func restarted(_ partition: Partition, epoch: UInt32) {
    if epoch == assignment.epoch { commits.restart(partition, epoch: epoch) }
  }

  /// The partitions that the group writes to, as far as known: if they hold records, a group that starts at its first
  /// records is repeating its work.
  public mutating func outputs(are partitions: [Partition]) { outputs = partitions }

  /// Takes the coordinator's committed offsets for the partitions of `askCommitted`.
  public mutating func committed(_ offsets: [(partition: Partition, offset: Int64?)]) {
    watch?.committed(offsets)
  }

  /// Takes the start and end offsets of logs: those that `askEnds` requested and that could be determined.
  public mutating func ends(
    _ ends: [Partition: RetentionGaps<Partition>.Ends], now: UInt64
  ) -> [GroupFinding<Partition>] {
    guard let (found, strange, ended) = watch?.answered(ends, outputs: outputs) else { return [] }
    var findings = found
    forgotten += strange
    // Where retention removed records, the log continues.
    let others = ended.filter(doubted.contains)
    if !others.isEmpty, !membership.hasLeft {
      findings.append(.remade(others))
      remade(others, now: now)
    }
    for case .lost(let partition, let offsets) in findings { commits.lost(partition, offsets) }
    return findings
  }

  /// The logs of these partitions were replaced: all partitions are given up and begun again, these at their first
  /// records.
  mutating func remade(_ partitions: [Partition], now: UInt64) {
    // What was completed in the old log does not apply to the new one, neither for the group nor for us.
    for partition in partitions { commits.forget(partition) }
    steps += membership.remade(Set(partitions), now: now)
  }
}
