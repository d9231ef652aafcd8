// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import Kafka

/// The commits of one member of a consumer group (`GroupMachine`) on the way to its coordinator, and what is said and
/// counted about them. Owned by the consumer's thread.
struct GroupCommits {
  typealias Taken = [(partition: TopicPartition, offset: Int64)]

  /// What a last commit waits for its answer at most; less after a second signal.
  private static let lastMilliseconds: Int32 = 5_000
  private static let fastMilliseconds: Int32 = 500
  /// For so many milliseconds refusals are no news: a rebalance refuses commits, and so does a coordinator that moves.
  private static let refusalQuiet: UInt64 = 10_000

  private let context: ServiceContext
  let counters = Counters<GroupCounter>()
  /// What an offset that is not committed costs, for the log.
  private let cost: String
  /// The longest offset map that the coordinator stores with an offset, as far as is known.
  private var mapLimit = OffsetMap.charactersAtMost
  /// Why the coordinator refused what it last refused, and when that is reported.
  private var refusal: KafkaError?
  private var reminder = ProblemReminder(quiet: refusalQuiet)

  /// - Parameter cost: what the next owner does with records above the last committed offset.
  init(_ context: ServiceContext, cost: String) {
    self.context = context
    self.cost = cost
    context.counters.add(counters)
  }

  /// Says that commits are refused, or that one was not answered; before the next one. Heartbeats go on while commits are
  /// refused, so nothing else would show it.
  ///
  /// - Parameters:
  ///   - refused: partitions whose last commit was refused.
  ///   - isRepeat: whether the last commit was not answered.
  mutating func report(refused: Int, isRepeat: Bool, _ now: UInt64) {
    switch reminder.step(isFailing: refused > 0, now: now) {
    case .nothing: break
    case .report:
      context.log(
        ServiceKitLog.commitsRefused,
        ["partitions": "\(refused)", "error": refusal.map { "\($0)" } ?? ""])
    case .reportResolved: context.log(ServiceKitLog.commitsAccepted)
    }
    guard isRepeat else { return }
    counters.add(.commitsUnanswered)
    context.log(
      ServiceKitLog.commitUnanswered,
      ["seconds": "\(CommitState<TopicPartition>.patience / 1_000)"])
  }

  /// Sends a commit, whose answer comes as an event.
  func send(
    _ plans: [PlannedCommit<TopicPartition>], _ client: some GroupClient, _ now: UInt64
  ) -> Bool {
    let requests = self.requests(plans)
    context.group.commitSent(requests, now: now)
    do throws(KafkaError) {
      try client.commitAsync(requests)
      return true
    } catch {
      context.log(ServiceKitLog.notCommitted, ["error": "\(error)"])
      return false
    }
  }

  private func requests(_ plans: [PlannedCommit<TopicPartition>]) -> [CommitRequest] {
    plans.map { $0.request(charactersAtMost: mapLimit) }
  }

  /// Takes the coordinator's answer. With an error of its own, nothing of the commit was taken.
  mutating func answered(
    _ results: [CommitResult], _ error: KafkaError?, now: UInt64
  ) -> (taken: Taken, refused: [TopicPartition]) {
    let taken = error == nil ? results.filter { $0.error == nil } : []
    let refused = error == nil ? results.filter { $0.error != nil } : results
    let refusal = error ?? refused.lazy.compactMap(\.error).first
    context.group.commitAnswered(now: now, isTaken: refusal == nil)
    if let refusal {
      self.refusal = refusal
      counters.add(.commitsRefused, refused.count)
      context.log(ServiceKitLog.commitRefused, ["error": "\(refusal)"])
      if refusal.isOfMetadataSize || refused.contains(where: { $0.error?.isOfMetadataSize == true })
      {
        shortenMaps()
      }
    }
    return (taken.map { ($0.partition, $0.offset) }, refused.map(\.partition))
  }

  /// What is refused is committed again, with half of the map: records that it does not hold may be done again.
  private mutating func shortenMaps() {
    mapLimit /= 2
    context.log(
      ServiceKitLog.mapsShortened,
      [
        "characters": "\(mapLimit)",
        "consequence": "after a crash more records are done again",
        "remedy":
          "raise the brokers' offset.metadata.max.bytes to \(OffsetMap.charactersAtMost) or more, and restart"
          + " this program then",
      ])
  }

  /// Commits what is done while the partitions are still ours, and waits for the answer. A refusal costs
  /// duplicates, not records.
  ///
  /// - Returns: what was taken; nil without an answer.
  func last(_ plans: [PlannedCommit<TopicPartition>], _ client: some GroupClient) -> Taken? {
    let patience = context.signals.isFastShutdown ? Self.fastMilliseconds : Self.lastMilliseconds
    do throws(KafkaError) {
      let results = try client.commit(requests(plans), timeoutMilliseconds: patience)
      if let error = results.lazy.compactMap(\.error).first { reportLoss(error) }
      return results.filter { $0.error == nil }.map { ($0.partition, $0.offset) }
    } catch {
      reportLoss(error)
      return nil
    }
  }

  private func reportLoss(_ error: KafkaError) {
    context.log(
      ServiceKitLog.lastOffsetsLost,
      ["consequence": "the next owner \(cost)", "error": "\(error)"])
  }

  /// The partitions were given back: no answer is owed any more.
  mutating func unassigned() { reminder = ProblemReminder(quiet: Self.refusalQuiet) }
}

extension PlannedCommit<TopicPartition> {
  /// The commit with its offset map.
  ///
  /// - Parameter charactersAtMost: the longest map; what does not fit is left out.
  func request(charactersAtMost: Int) -> CommitRequest {
    CommitRequest(
      partition, offset: offset,
      metadata: OffsetMap.encode(
        of: partition, base: offset, completedAbove, charactersAtMost: charactersAtMost))
  }
}
