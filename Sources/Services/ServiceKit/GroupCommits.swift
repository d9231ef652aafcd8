// SPDX-License-Identifier: Apache-2.0
import Delivery
package import Kafka
import Telemetry

/// What is counted about a group member's commits.
enum CommitCounter: Int, CounterKey {
  /// Commits that no coordinator answered in time: what they said is committed again.
  case commitsUnanswered

  var series: MetricSeries? { MetricSeries(KafkaMetrics.commitsUnanswered) }
}

/// The commits of one member of a consumer group: one under way at a time, given up when no answer comes, and a
/// last one before partitions are given back. Owned by the consumer's thread.
package struct GroupCommits {
  /// What a last commit waits for its answer at most; less after a second signal.
  private static let lastMilliseconds: Int32 = 5_000
  private static let hurriedMilliseconds: Int32 = 500

  private let context: ServiceContext
  private let counters = Counters<CommitCounter>()
  private var pace: CommitPace

  /// - Parameter interval: milliseconds between two commits.
  package init(_ context: ServiceContext, interval: Int64) {
    self.context = context
    pace = CommitPace(interval: UInt64(interval))
    context.counters.add(counters)
  }

  /// Commits what is due, if it is time for that. To be called every turn.
  ///
  /// - Parameter due: what is done and not committed; asked only when a commit may be sent.
  /// - Returns: whether the commit could not be sent.
  @discardableResult
  package mutating func turn(
    _ consumer: KafkaGroupConsumer, now: UInt64, due: () -> [CommitRequest]
  ) -> Bool {
    switch pace.step(now: now) {
    case .wait: return false
    case .commit: break
    case .commitAfterSilence:
      counters.add(.commitsUnanswered)
      context.log.warning(
        "the group coordinator did not answer a commit; retrying",
        ["seconds": "\(CommitPace.patience / 1_000)"])
    }
    let requests = due()
    guard !requests.isEmpty else { return false }
    do throws(KafkaError) {
      try consumer.commitAsync(requests)
      pace.sent(now: now)
      return false
    } catch {
      context.log.warning("cannot commit; retrying", ["error": "\(error)"])
      return true
    }
  }

  /// Takes the coordinator's answer.
  ///
  /// - Returns: what it has taken.
  package mutating func answered(_ results: [CommitResult], _ error: KafkaError?) -> [CommitResult]
  {
    pace.answered()
    if let error { context.log.debug("commit refused; retrying", ["error": "\(error)"]) }
    return results.filter { $0.error == nil }
  }

  /// Commits what is done while the partitions are still ours, and waits for the answer. A refusal costs
  /// duplicates, not records.
  ///
  /// - Parameter cost: what it costs, for the log.
  /// - Returns: what the coordinator has taken; nil when it took nothing.
  @discardableResult
  package mutating func last(
    _ consumer: KafkaGroupConsumer, _ due: [CommitRequest], cost: String
  ) -> [CommitResult]? {
    pace.answered()
    guard !due.isEmpty else { return [] }
    let patience = context.signals.isHurrying ? Self.hurriedMilliseconds : Self.lastMilliseconds
    do throws(KafkaError) {
      return try consumer.commit(due, timeoutMilliseconds: patience).filter { $0.error == nil }
    } catch {
      context.log.warning(
        "last offsets not committed; the next owner \(cost)", ["error": "\(error)"])
      return nil
    }
  }

  /// Partitions were assigned or lost: no answer is owed any more.
  package mutating func restart() { pace.answered() }
}
