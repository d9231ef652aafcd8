// SPDX-License-Identifier: Apache-2.0

/// A process's part in its consumer group, from an assignment to the next: `revoke → drain → commit → unassign`.
///
/// Events go in, as Kafka's client and the service tell them; actions come out of `next`, one after the other, each to be
/// performed before the next is asked for. The value joins what is decided about membership (`Membership`), commits
/// (`CommitState`) and lost records (`LogWatch`). A service that takes and completes records on the thread that owns it
/// also leaves it its offsets (`received`, `completed`); the sender's loops have ledgers of their own and say how far they
/// are (`note`).
///
/// Nothing waits for what is under way: while the process drains, its turns go on, and it says when it is done. Times are
/// in monotonic milliseconds.
public struct GroupMachine<Partition: Hashable & Sendable>: Sendable {
  public enum Action: Equatable, Sendable {
    // For the service.

    /// Find where these partitions begin: `begin` and then `began` are owed, or `began(false)` alone.
    case begin(GroupAssignment<Partition>)
    /// Take nothing more, finish what was taken until the deadline, and call `drained`. Comes again when there is less time
    /// than was said. `isLeaving`: nothing is assigned afterwards.
    case drain(deadline: UInt64, isLost: Bool, isLeaving: Bool)
    /// The time is up: give up what is not finished, and call `drained`.
    case abandon
    /// The partitions are not this process's any more; tell the client if `isAwaited`. `isOver`: nor are they begun again
    /// at once.
    case unassign(isAwaited: Bool, isOver: Bool)
    /// The logs of these partitions are not what they were: forget what is remembered of them.
    case forget([Partition])

    // For Kafka's client.

    /// Commit these, if there are any; the answer comes as an event. `isRepeat`: the last one was not answered.
    case commit([PlannedCommit<Partition>], isRepeat: Bool)
    /// Commit these and wait for the answer: the partitions are still ours.
    case commitLast([PlannedCommit<Partition>])
    /// Ask the group's coordinator what is committed (`committed`); comes again without an answer.
    case askCommitted([Partition])
    /// Find out where these logs begin and end (`ends`).
    case askEnds([Partition])
    /// The client is of no further use: end it.
    case retire
    /// Join the group again with a new client; `failedToRejoin` if that is not possible.
    case rejoin
    /// Leave the group. Nothing follows.
    case leave
  }

  private let plan: GroupPlan
  /// Of a service that takes and completes records on one thread. Before all that depends on `Partition`: so its place is
  /// known, and need not be asked of the type for each record.
  private var book: OffsetBook
  private var membership: Membership<Partition>
  private var steps: [Membership<Partition>.Step] = []
  private var fencing = FencedMember()
  private var commits = CommitState<Partition>()
  private var nextCommit: UInt64 = 0
  private var watch: LogWatch<Partition>?
  /// The partitions that the group's work fills, as far as they are known.
  private var outputs: [Partition] = []
  /// Partitions whose offsets went back: their log may be another one.
  private var doubted: Set<Partition> = []
  private var stepsBack: [Partition: StepsBack] = [:]
  /// What is still to be told with `forget`.
  private var forgotten: [Partition] = []
  private var assignment = GroupAssignment<Partition>(partitions: [], atFirstRecord: [], epoch: 0)
  private var starts: [GroupStart<Partition>] = []
  private var isStopping = false
  private var hasFailed = false

  // Of a service that takes and completes records on one thread, too.

  private var names: [Source: Partition] = [:]
  /// The service was told to drain, and that the time is up.
  private var isToldToDrain = false
  private var isAbandoned = false

  public init(_ plan: GroupPlan) {
    self.plan = plan
    membership = Membership(rebalancePatience: plan.rebalancePatience)
    watch = plan.watchesLosses ? LogWatch(hasOutputs: !plan.outputs.isEmpty) : nil
    book = OffsetBook(topics: plan.topics.count)
  }

  // MARK: Questions

  /// True if records are to be taken.
  public var isAssigned: Bool { membership.isAssigned }
  /// True if `drained` is owed.
  public var isDraining: Bool { membership.isDraining }
  /// True if nothing is begun any more.
  public var isLeaving: Bool { membership.isLeaving }
  /// True if the process may end.
  public var hasLeft: Bool { membership.hasLeft && steps.isEmpty }
  /// True if the group's next event is to be told: another change of the assignment waits until one is through.
  public var takesEvents: Bool {
    guard steps.isEmpty, forgotten.isEmpty, membership.takesEvents else { return false }
    return membership.isLeaving || !isStopping && !hasFailed
  }
  /// True while the partitions that the group's work fills are to be named (`outputs(are:)`).
  public var wantsOutputs: Bool { watch?.wantsOutputs == true }
  /// Partitions whose last commit was refused: it comes again until it is taken.
  public var refusedPartitions: Int { commits.refusedPartitions.count }

  // MARK: The next action

  /// The next action; nil when there is nothing more to be done in this turn.
  ///
  /// - Parameter isIdle: of a service that leaves its offsets here, whether nothing that was taken is unfinished: then it
  ///   is drained. Others say so themselves.
  public mutating func next(now: UInt64, isIdle: Bool? = nil) -> Action? {
    if isToldToDrain, let isIdle, isIdle || isAbandoned { drained(now: now) }
    while true {
      if steps.isEmpty, !membership.hasLeft {
        if let question = watch?.coordinatorQuestion(now: now) { return .askCommitted(question) }
        if let question = watch?.question(outputs: outputs) { return .askEnds(question) }
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

  /// Every interval, also when there is nothing to commit: refusals may be worth a report.
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
      (doubted, stepsBack, names) = ([], [:], [:])
      book.removeAll()
      return .unassign(isAwaited: isAwaited, isOver: steps.isEmpty || steps == [.retire])
    case .retire: return .retire
    case .rejoin: return .rejoin
    case .leave: return .leave
    }
  }

  // MARK: Events of the group

  /// The group has given these partitions to this process.
  public mutating func assigned(_ partitions: [Partition], now: UInt64) {
    steps += membership.assigned(partitions, now: now)
  }

  /// The group takes all partitions back.
  ///
  /// - Parameter isLost: they are others' already. A member with a name takes a new client then: the one that it has
  ///   forgot who it is, and what it has still to commit would end it (`FencedMember`).
  public mutating func revoked(isLost: Bool, now: UInt64) {
    steps +=
      isLost && plan.instanceID != nil
      ? membership.expelled(patience: 0, delay: 0, now: now)
      : membership.revoked(isLost: isLost, now: now)
  }

  /// The coordinator says that another process has this member's name.
  ///
  /// - Returns: milliseconds after which a new client joins; nil if the client is of no further use, and `fail` is owed.
  public mutating func fenced(now: UInt64) -> UInt64? {
    guard plan.instanceID != nil, let delay = fencing.fenced(now: now) else { return nil }
    steps += membership.expelled(patience: plan.lostPatience, delay: delay, now: now)
    return delay
  }

  /// No new client could be made: memory, threads or descriptors are short.
  public mutating func failedToRejoin(now: UInt64) {
    steps += membership.expelled(patience: 0, delay: 1_000, now: now)
  }

  /// The coordinator answered a commit with these offsets taken, and those of other partitions refused.
  public mutating func answered(
    _ taken: [(partition: Partition, offset: Int64)], refused: [Partition] = []
  ) {
    commits.answered(taken, refused: refused)
  }

  /// A commit could not even be sent, or the coordinator did not answer the last one.
  public mutating func failedToCommit() { commits.refused() }

  // MARK: Events of the service

  /// The process is to stop.
  public mutating func stop() { isStopping = true }

  /// A second stop signal came: what is under way gets no more time.
  public mutating func fastShutdown(now: UInt64) { steps += membership.fastShutdown(now: now) }

  /// The process can do nothing more: what is under way is given up and nothing is committed.
  public mutating func fail() { hasFailed = true }

  /// The answer to `drain` or `abandon`: what was taken is finished, or given up.
  public mutating func drained(now: UInt64) {
    (isToldToDrain, isAbandoned) = (false, false)
    steps += membership.drained(now: now)
  }

  /// The starting points of the assignment, before it is known whether it can be begun.
  ///
  /// - Parameter sources: of a service that leaves its offsets here, the places of the partitions in the same order.
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

  /// The answer to `begin`. Without success the assignment comes again; what `begin` said can be handed over.
  public mutating func began(_ isDone: Bool, now: UInt64) {
    if isDone {
      watch?.begin(starts, remade: assignment.atFirstRecord)
      if !names.isEmpty { book.begin(Array(names.keys), epoch: assignment.epoch) }
    }
    starts = []
    membership.began(isDone, now: now)
  }

  // MARK: Progress

  /// How far partitions are done. What is said of an earlier assignment changes nothing.
  public mutating func note(_ progress: [PartitionProgress<Partition>]) { commits.note(progress) }

  /// After `unassign`, or when an assignment could not be begun: what is done in the partitions goes into `memory`. What
  /// is not handed over is forgotten with the next assignment.
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

  /// The assignment under which records are taken now; 0 for none.
  public var epoch: UInt32 { book.epoch }

  /// A record was read.
  ///
  /// - Returns: whether it is to be worked on, and completed then. If not, it was taken before, or its log may be another
  ///   one.
  public mutating func received(_ source: Source, _ offset: Int64) -> Bool {
    let arrival = book.received(source, offset)
    return arrival == .new || isWanted(arrival, source, offset)
  }

  /// The same of what did not come as expected, apart from what is asked for each record.
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

  /// A record of an assignment is done.
  public mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    book.completed(source, epoch: epoch, offset)
  }

  /// A partition was read to its end.
  public mutating func ended(_ source: Source, at end: Int64) {
    guard let partition = names[source] else { return }
    commits.ended(partition, at: end)
    guard let gap = book.ended(source, at: end) else { return }
    watch?.jumped(partition, gap)
  }

  // MARK: Logs

  /// Offsets did not come.
  public mutating func jumped(_ partition: Partition, epoch: UInt32, _ offsets: Range<Int64>) {
    if epoch == assignment.epoch { watch?.jumped(partition, offsets) }
  }

  /// Offsets below one that was read came again. That may be the same log, read again from its start, as after an
  /// answer that an offset is out of range: the broker is asked, each time.
  public mutating func wentBack(_ partition: Partition, epoch: UInt32, from expected: Int64) {
    guard epoch == assignment.epoch else { return }
    doubted.insert(partition)
    watch?.doubts(partition, at: expected)
  }

  /// The log starts again at its first record, below the place where reading was to begin.
  mutating func restarted(_ partition: Partition, epoch: UInt32) {
    if epoch == assignment.epoch { commits.restart(partition, epoch: epoch) }
  }

  /// The partitions that the group's work fills, as far as they are known: if they hold records, a group that begins at its
  /// first records begins again.
  public mutating func outputs(are partitions: [Partition]) { outputs = partitions }

  /// Takes in what the coordinator has of the partitions of `askCommitted`.
  public mutating func committed(_ offsets: [(partition: Partition, offset: Int64?)]) {
    watch?.committed(offsets)
  }

  /// Takes in where logs begin and end: of what `askEnds` wanted, all that could be found out.
  ///
  /// - Returns: what is to be reported.
  public mutating func ends(
    _ ends: [Partition: RetentionGaps<Partition>.Ends], now: UInt64
  ) -> [GroupFinding<Partition>] {
    guard let (found, strange, ended) = watch?.answered(ends, outputs: outputs) else { return [] }
    var findings = found
    forgotten += strange
    // Where retention removed records a log goes on.
    let others = ended.filter(doubted.contains)
    if !others.isEmpty, !membership.hasLeft {
      findings.append(.remade(others))
      remade(others, now: now)
    }
    for case .lost(let partition, let offsets) in findings { commits.lost(partition, offsets) }
    return findings
  }

  /// The logs of these partitions are other ones than were read: everything is given back and begun again, they at
  /// their first records.
  mutating func remade(_ partitions: [Partition], now: UInt64) {
    // What was done in the old log says nothing about the new one, neither to the group nor to us.
    for partition in partitions { commits.forget(partition) }
    steps += membership.remade(Set(partitions), now: now)
  }
}
