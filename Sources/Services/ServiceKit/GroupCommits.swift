// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
import Diagnosis
public import Kafka
import Telemetry

/// What is counted about a group member's commits.
enum CommitCounter: Int, CounterKey {
  /// Commits that no coordinator answered in time: what they said is committed again.
  case commitsUnanswered
  /// Offsets that the coordinator refused, one for each partition of a commit: they are committed again.
  case commitsRefused

  var series: MetricSeries? {
    switch self {
    case .commitsUnanswered: MetricSeries(KafkaMetrics.commitsUnanswered)
    case .commitsRefused: MetricSeries(KafkaMetrics.commitsRefused)
    }
  }
}

/// The commits of one member of a consumer group (`CommitState`) on the way to its coordinator: at an interval, one
/// at a time, and a last one before partitions are given back. Owned by the consumer's thread.
struct GroupCommits {
  typealias Progress = [PartitionProgress<TopicPartition>]

  /// What a last commit waits for its answer at most; less after a second signal.
  private static let lastMilliseconds: Int32 = 5_000
  private static let fastMilliseconds: Int32 = 500
  /// For so many milliseconds refusals are no news: a rebalance refuses commits, and so does a coordinator that moves.
  private static let refusalQuiet: UInt64 = 10_000

  private let context: ServiceContext
  private let counters = Counters<CommitCounter>()
  private let interval: UInt64
  /// What an offset that is not committed costs, for the log.
  private let cost: String
  private var state = CommitState<TopicPartition>()
  private var nextAt: UInt64 = 0
  /// Why the coordinator refused what it last refused, and when that is reported.
  private var refusal: KafkaError?
  private var reminder = ProblemReminder(quiet: refusalQuiet)

  /// - Parameters:
  ///   - interval: milliseconds between two commits.
  ///   - cost: what the next owner does with records above the last committed offset.
  init(_ context: ServiceContext, interval: Int64, cost: String) {
    self.context = context
    self.interval = UInt64(interval)
    self.cost = cost
    context.counters.add(counters)
  }

  /// Partitions were assigned; what was noted of earlier ones is forgotten.
  mutating func begin(_ starts: [GroupStart], epoch: UInt32) {
    state.removeAll()
    for start in starts {
      state.begin(
        start.start.partition, epoch: epoch, committed: start.committed, start.resume,
        isNews: start.isNews)
    }
  }

  /// The partition's log is another one: nothing more of it is committed.
  mutating func forget(_ partition: TopicPartition) { state.forget(partition) }

  /// Offsets were removed before they were read.
  mutating func lost(_ partition: TopicPartition, _ offsets: Range<Int64>) {
    state.lost(partition, offsets)
  }

  /// The partition's log starts again: offsets below the committed one are to be committed.
  mutating func restart(_ partition: TopicPartition, epoch: UInt32) {
    state.restart(partition, epoch: epoch)
  }

  /// Whether it is time to look for something to commit.
  func isDue(now: UInt64) -> Bool { now >= nextAt }

  /// How far partitions are done.
  mutating func note(_ progress: Progress) { state.note(progress) }

  /// Commits what is done, unless an answer is awaited.
  mutating func turn(_ client: some GroupClient, now: UInt64) {
    nextAt = now + interval
    reportRefusal(now)
    if state.isUnanswered(now: now) {
      counters.add(.commitsUnanswered)
      context.log.warning(
        "the group coordinator did not answer a commit; retrying",
        ["seconds": "\(CommitState<TopicPartition>.patience / 1_000)"])
    }
    let due = state.due(now: now).map(\.request)
    guard !due.isEmpty else { return }
    context.group.commitSent(due, now: now)
    do throws(KafkaError) {
      try client.commitAsync(due)
    } catch {
      state.refused()
      context.log.warning("cannot commit; retrying", ["error": "\(error)"])
    }
  }

  /// Takes the coordinator's answer. With an error of its own, nothing of the commit was taken.
  mutating func answered(_ results: [CommitResult], _ error: KafkaError?, now: UInt64) {
    let taken = error == nil ? results.filter { $0.error == nil } : []
    let refused = error == nil ? results.filter { $0.error != nil } : results
    state.answered(
      taken.map { ($0.partition, $0.offset) }, refused: refused.map(\.partition))
    let refusal = error ?? refused.lazy.compactMap(\.error).first
    context.group.commitAnswered(now: now, isTaken: refusal == nil)
    guard let refusal else { return }
    self.refusal = refusal
    counters.add(.commitsRefused, refused.count)
    context.log.debug("commit refused; retrying", ["error": "\(refusal)"])
  }

  /// Heartbeats go on while commits are refused, so nothing else would show it.
  private mutating func reportRefusal(_ now: UInt64) {
    let count = state.refusedPartitions.count
    switch reminder.step(isFailing: count > 0, now: now) {
    case .nothing: break
    case .report:
      context.log.warning(
        "Kafka refuses commits; retrying",
        ["partitions": "\(count)", "error": refusal.map { "\($0)" } ?? ""])
    case .reportResolved: context.log.info("Kafka accepts commits again")
    }
  }

  /// Commits what is done while the partitions are still ours, and waits for the answer. A refusal costs
  /// duplicates, not records.
  mutating func last(_ client: some GroupClient, now: UInt64) {
    let due = state.everything(now: now)
    guard !due.isEmpty else { return }
    let patience = context.signals.isFastShutdown ? Self.fastMilliseconds : Self.lastMilliseconds
    do throws(KafkaError) {
      let results = try client.commit(due.map(\.request), timeoutMilliseconds: patience)
      state.answered(results.filter { $0.error == nil }.map { ($0.partition, $0.offset) })
      if let error = results.lazy.compactMap(\.error).first { reportLoss(error) }
    } catch {
      state.refused()
      reportLoss(error)
    }
  }

  private func reportLoss(_ error: KafkaError) {
    context.log.warning(
      "last offsets not committed; the next owner \(cost)", ["error": "\(error)"])
  }

  /// The partitions were given back: what was done in them goes into `memory`, and no answer is owed any more.
  mutating func handOver(to memory: inout CompletionMemory<TopicPartition>) {
    state.handOver(to: &memory)
    reminder = ProblemReminder(quiet: Self.refusalQuiet)
  }
}

extension PlannedCommit<TopicPartition> {
  /// The commit with its offset map.
  public var request: CommitRequest {
    CommitRequest(
      partition, offset: offset,
      metadata: OffsetMap.encode(of: partition, base: offset, completedAbove))
  }
}
