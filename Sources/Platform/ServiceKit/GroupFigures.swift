// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import EventLoop
public import Kafka
import Synchronization
public import Telemetry

/// How this process stands in its consumer group, for `/metrics`: partitions of the group and of this process, what it
/// has still to read, and how its commits fare. The consumer's thread and the `ClusterWatch` write, rarely.
public final class GroupFigures: MetricSource {
  private struct State {
    /// nil for a program that is in no group.
    var group: String?
    var topics: [String] = []
    /// Partitions of every topic that the process uses.
    var partitions: [String: Int] = [:]
    var assigned: [TopicPartition] = []
    /// Where their logs end, with what open transactions hold back.
    var ends: [TopicPartition: Int64] = [:]
    var transactions = OpenTransactions<TopicPartition>()
    /// Of the last look; 0 while nothing is held back.
    var heldMilliseconds = 0
    /// By topic, without those of which it is not known; nil until it was asked for.
    var lag: [String: Int]?
    /// Looks in a row without an answer about all partitions.
    var unanswered = 0
    /// Bytes of the longest commit metadata of the last commit.
    var metadataBytes = 0
    /// Monotonic milliseconds of the commit that is not answered.
    var commitSentAt: UInt64?
    /// Those of the process's other groups.
    var further: [GroupFigures] = []

    /// What open transactions have held back for longest, as of the last answer.
    func longestHeld(now: UInt64) -> Held? {
      transactions.longest(now: now).map {
        Held(partition: $0.partition, offset: $0.offset, milliseconds: $0.milliseconds)
      }
    }

    /// The same of what is still assigned.
    func heldOfAssigned(now: UInt64) -> Held? {
      var state = self
      state.transactions.keep(Set(assigned))
      return state.longestHeld(now: now)
    }
  }

  /// Looks without an answer after which the last one is no longer shown: it may be long from true.
  static let patience = 6

  private let state = Mutex(State())
  private let commits = LatencyCells(GroupMetrics.commit, [[]])

  /// Figures of another group that the process is in; they follow the same topics.
  func further() -> GroupFigures {
    let figures = GroupFigures()
    state.withLock { state in
      figures.state.withLock { $0.partitions = state.partitions }
      state.further.append(figures)
    }
    return figures
  }

  public func join(_ group: String, topics: [String]) {
    state.withLock { ($0.group, $0.topics) = (group, topics) }
  }

  /// These partitions are the process's from now on.
  public func assigned(_ partitions: [TopicPartition]) {
    state.withLock { state in
      state.assigned = partitions
      state.ends = [:]
      state.lag = state.lag?.filter { lag in partitions.contains { $0.topic == lag.key } }
    }
  }

  func counted(_ topic: String, _ partitions: Int) {
    let further = state.withLock { state in
      state.partitions[topic] = partitions
      return state.further
    }
    for figures in further { figures.counted(topic, partitions) }
  }

  /// Partitions of a topic that the process uses; 0 while they are not known.
  public func partitionCount(of topic: String) -> Int {
    state.withLock { $0.partitions[topic] ?? 0 }
  }

  /// The logs of what is assigned end there, with what open transactions hold back.
  func ends(_ ends: [TopicPartition: Int64]) { state.withLock { $0.ends = ends } }

  /// What an open transaction of another producer holds back.
  struct Held: Equatable {
    var partition: TopicPartition
    /// The first offset that no reader gets.
    var offset: Int64
    var milliseconds: UInt64
  }

  /// Asks how much of what is assigned is still to be read. Without an answer nothing changes at first (`patience`).
  ///
  /// - Returns: the partition that an open transaction holds longest, without an answer as of the last one; nil if none
  ///   does.
  @discardableResult
  func look(_ admin: KafkaAdmin) -> Held? {
    let (group, partitions, ends, further) = state.withLock {
      ($0.group, $0.assigned, $0.ends, $0.further)
    }
    let held = further.compactMap { $0.look(admin) }
    let lag = group.flatMap {
      try? admin.lag(of: $0, partitions, timeoutMilliseconds: 2_000, needsAll: false)
    }
    let now = MonotonicClock.milliseconds()
    let own: Held? = if let lag { take(lag, of: partitions, ends, now) } else { noAnswer(now) }
    return ([own] + held).compactMap(\.self).max { $0.milliseconds < $1.milliseconds }
  }

  /// Notes that there was no answer.
  ///
  /// - Returns: what an open transaction holds back of what is still assigned, as of the last answer.
  func noAnswer(_ now: UInt64) -> Held? {
    state.withLock { state in
      state.unanswered += 1
      if state.unanswered >= Self.patience { state.lag = nil }
      return state.heldOfAssigned(now: now)
    }
  }

  /// Takes in the lag of what was assigned, as far as it is known, and the ends of the logs that were known before.
  func take(
    _ lag: [TopicPartition: PartitionLag], of partitions: [TopicPartition],
    _ ends: [TopicPartition: Int64], _ now: UInt64
  ) -> Held? {
    let unknown = Set(partitions.filter { lag[$0] == nil }.map(\.topic))
    return state.withLock { state in
      // Of what was assigned meanwhile nothing is known yet.
      guard state.assigned == partitions else { return state.heldOfAssigned(now: now) }
      state.unanswered = unknown.isEmpty ? 0 : state.unanswered + 1
      var sums: [String: Int] = [:]
      for (partition, lag) in lag { sums[partition.topic, default: 0] += Int(lag.records) }
      for topic in unknown {
        sums[topic] = state.unanswered >= Self.patience ? nil : state.lag?[topic]
      }
      state.lag = sums
      state.transactions.keep(Set(partitions))
      for (partition, lag) in lag {
        state.transactions.note(partition, stable: lag.end, end: ends[partition], now: now)
      }
      let longest = state.longestHeld(now: now)
      state.heldMilliseconds = Int(longest?.milliseconds ?? 0)
      return longest
    }
  }

  // MARK: Commits

  public func commitSent(_ offsets: [CommitRequest], now: UInt64) {
    guard !offsets.isEmpty else { return }
    let longest = offsets.reduce(0) { max($0, $1.metadata?.utf8.count ?? 0) }
    state.withLock { ($0.metadataBytes, $0.commitSentAt) = (longest, now) }
  }

  /// The coordinator has answered a commit. A refusal, if only of some partitions, is not timed.
  public func commitAnswered(now: UInt64, isTaken: Bool) {
    guard let sentAt = state.withLock({ $0.commitSentAt.take() }), isTaken, now >= sentAt
    else { return }
    commits.recorder.record(Int64(now - sentAt), in: 0)
  }

  // MARK: Samples

  public var samples: [MetricSample] {
    let state = state.withLock { $0 }
    guard let group = state.group else { return [] }
    let expected = state.topics.reduce(0) { $0 + (state.partitions[$1] ?? 0) }
    let lag = (state.lag ?? [:]).sorted { $0.key < $1.key }
    return [
      MetricSample(GroupMetrics.partitionsExpected, [group], expected),
      MetricSample(GroupMetrics.partitionsAssigned, [group], state.assigned.count),
      MetricSample(GroupMetrics.commitMetadata, state.metadataBytes),
      MetricSample(GroupMetrics.heldByTransaction, [group], .thousandths(state.heldMilliseconds)),
    ] + lag.map { MetricSample(GroupMetrics.lag, [group, $0.key], $0.value) } + commits.samples
  }
}
