// SPDX-License-Identifier: Apache-2.0
public import Kafka
import Synchronization
public import Telemetry

/// How this process stands in its consumer group, for `/metrics`: partitions of the group and of this process, what it
/// has still to read, and how its commits fare. The consumer's thread and the `PartitionWatch` write, rarely.
public final class GroupFigures: MetricSource {
  private struct State {
    /// nil for a program that is in no group.
    var group: String?
    var topics: [String] = []
    /// Partitions of every topic that the process uses.
    var partitions: [String: Int] = [:]
    var assigned: [TopicPartition] = []
    /// By topic; nil until it was asked for.
    var lag: [String: Int]?
    /// Bytes of the longest commit metadata of the last commit.
    var metadataBytes = 0
    /// Monotonic milliseconds of the commit that is not answered.
    var commitSentAt: UInt64?
    /// Those of the process's other groups.
    var further: [GroupFigures] = []
  }

  private let state = Mutex(State())
  private let commits = LatencyCells(KafkaMetrics.commit, [[]])

  public init() {}

  /// Figures of another group that the process is in; they follow the same topics.
  func further() -> GroupFigures {
    let figures = GroupFigures()
    state.withLock { state in
      figures.state.withLock { $0.partitions = state.partitions }
      state.further.append(figures)
    }
    return figures
  }

  /// The process becomes a member of a group.
  public func join(_ group: String, topics: [String]) {
    state.withLock { ($0.group, $0.topics) = (group, topics) }
  }

  /// These partitions are the process's from now on.
  public func assigned(_ partitions: [TopicPartition]) {
    state.withLock { state in
      state.assigned = partitions
      state.lag = state.lag?.filter { lag in partitions.contains { $0.topic == lag.key } }
    }
  }

  /// A topic has so many partitions.
  func counted(_ topic: String, _ partitions: Int) {
    let further = state.withLock { state in
      state.partitions[topic] = partitions
      return state.further
    }
    for figures in further { figures.counted(topic, partitions) }
  }

  /// Asks how much of what is assigned is still to be read. Without an answer nothing changes.
  func look(_ admin: KafkaAdmin) {
    let (group, partitions, further) = state.withLock { ($0.group, $0.assigned, $0.further) }
    for figures in further { figures.look(admin) }
    guard let group, let lag = try? admin.lag(of: group, partitions, timeoutMilliseconds: 2_000)
    else { return }
    var sums: [String: Int] = [:]
    for (partition, count) in lag { sums[partition.topic, default: 0] += Int(count) }
    state.withLock { if $0.assigned == partitions { $0.lag = sums } }
  }

  // MARK: Commits

  /// A commit goes out.
  ///
  /// - Parameter now: monotonic milliseconds.
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
      MetricSample(KafkaMetrics.partitionsExpected, [group], expected),
      MetricSample(KafkaMetrics.partitionsAssigned, [group], state.assigned.count),
      MetricSample(KafkaMetrics.commitMetadata, state.metadataBytes),
    ] + lag.map { MetricSample(KafkaMetrics.lag, [group, $0.key], $0.value) } + commits.samples
  }
}
