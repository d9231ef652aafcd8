// SPDX-License-Identifier: Apache-2.0
public import Bytes
import Delivery
public import EventLoop
public import Kafka
import Telemetry

/// What is counted about the logs that a service reads.
enum RetentionCounter: Int, CounterKey {
  /// Records that were removed from a log before they were read.
  case lostToRetention
  /// Logs found to end before the offset that the group had committed.
  case logsCut

  var series: MetricSeries? {
    switch self {
    case .lostToRetention: MetricSeries(KafkaMetrics.recordsLost)
    case .logsCut: MetricSeries(KafkaMetrics.logsTruncated)
    }
  }
}

/// Watches that a group's consumer passes over nothing in silence: what retention removed before it was read is
/// counted and said loudly. Owned by the consumer's thread; asks the broker only when offsets did not come as they
/// should, and once for each partition after an assignment. The thread does not wait for the answers.
public struct RetentionAlarm {
  /// How the line begins that says that records are lost.
  public static let lossMessage =
    "records were removed by retention before they were read: they are lost"

  private let log: Logger
  private let counters = Counters<RetentionCounter>()
  private var gaps = RetentionGaps<TopicPartition>()
  /// Partitions whose committed offset is not known yet.
  private var unasked: [TopicPartition] = []
  /// Partitions whose logs were found to end too early in this assignment: each is counted once, however often it is
  /// looked at.
  private var cut: Set<TopicPartition> = []
  private let reader: WatermarkReader

  /// - Parameter wakeup: signalled when there is something for `turn` to do.
  public init(
    _ context: ServiceContext, _ kafka: KafkaConfiguration, wakeup: Wakeup
  ) throws(SystemError) {
    log = context.log
    reader = try WatermarkReader(kafka, wakeup: wakeup)
    context.counters.add(counters)
  }

  /// Asks nothing more. Waits until its Kafka client is gone, at most a second.
  public func close() { reader.close() }

  /// Partitions were assigned; where they go on is to be asked of the group's coordinator.
  public mutating func assigned(_ partitions: [TopicPartition]) { unasked = partitions }

  /// A partition was assigned and goes on at this offset.
  public mutating func assigned(_ partition: TopicPartition, at offset: Int64) {
    gaps.begin(partition, at: offset)
  }

  /// These offsets did not come.
  public mutating func jumped(_ partition: TopicPartition, _ offsets: Range<Int64>) {
    gaps.jumped(partition, offsets)
  }

  /// The partitions were given back.
  public mutating func released() {
    unasked = []
    cut = []
    gaps.dropQuestions()
  }

  /// Asks what there is to ask, counts and logs what is found. To be called once a turn.
  ///
  /// - Returns: the partitions whose log is not what it was.
  @discardableResult
  public mutating func turn(_ client: some GroupClient) -> [TopicPartition] {
    if !unasked.isEmpty { askForCommitted(client) }
    var findings: [RetentionGaps<TopicPartition>.Finding] = []
    if let answer = reader.takeAnswer() {
      findings = gaps.judge(answer.mapValues { ($0.low, $0.high) })
    }
    if gaps.isCurious, !reader.isAsked { reader.ask(gaps.ask()) }
    return findings.map { report($0) }
  }

  private mutating func askForCommitted(_ client: some GroupClient) {
    guard let offsets = try? client.committed(unasked, timeoutMilliseconds: 1_000) else { return }
    unasked = []
    for entry in offsets {
      if let offset = entry.offset { gaps.begin(entry.partition, at: offset) }
    }
  }

  private mutating func report(_ finding: RetentionGaps<TopicPartition>.Finding) -> TopicPartition {
    switch finding {
    case .lost(let partition, let offsets):
      counters.add(.lostToRetention, offsets.count)
      log.error(
        Self.lossMessage,
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "first": "\(offsets.lowerBound)", "last": "\(offsets.upperBound - 1)",
          "count": "\(offsets.count)",
        ])
      return partition
    case .endsBefore(let partition, let committed, let end):
      guard cut.insert(partition).inserted else { return partition }
      counters.add(.logsCut)
      log.error(
        "log truncated or topic recreated: it ends before the committed offset",
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "committed": "\(committed)", "end": "\(end)",
        ])
      return partition
    }
  }
}
