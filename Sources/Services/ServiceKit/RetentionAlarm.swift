// SPDX-License-Identifier: Apache-2.0
public import Bytes
import ConsumerGroup
public import EventLoop
public import Kafka
import Telemetry

/// The counters of the logs that a service reads.
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
  /// The prefix of the line that reports lost records.
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
  /// The ranges that were found lost and not reported yet.
  private var losses: [(TopicPartition, Range<Int64>)] = []
  private var start = StartOfReading<TopicPartition>()
  /// Offsets are deleted or set back while no member runs, so only a process's first assignment can show it.
  private var isFirst = true
  /// Records that the group is to read from its first ones on.
  private var beginsWith: Int64?
  /// True if it has worked before, as its outputs said when the process started; nil while that is not known.
  private var hasWorked: Bool?
  /// So often the outputs are asked about.
  private var outputAttempts = 10
  private let group: GroupFigures
  private let plan: GroupPlan
  private let reader: WatermarkReader

  /// - Parameter wakeup: signalled when there is something for `turn` to do.
  public init(
    _ context: ServiceContext, _ plan: GroupPlan, _ kafka: KafkaConfiguration, wakeup: Wakeup
  ) throws(SystemError) {
    log = context.log
    group = context.group
    self.plan = plan
    hasWorked = plan.outputs.isEmpty ? false : nil
    reader = try WatermarkReader(kafka, context, wakeup: wakeup)
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

  /// A partition was assigned, for which the group has committed this offset, or none.
  mutating func begins(_ partition: TopicPartition, committed: Int64?) {
    if isFirst { start.begin(partition, committed: committed) }
  }

  /// The ranges that were found lost since the last call.
  mutating func drainLosses() -> [(TopicPartition, Range<Int64>)] {
    defer { losses = [] }
    return losses
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
    isFirst = false
    start.removeAll()
    beginsWith = nil
  }

  /// Asks what there is to ask, counts and logs what is found. To be called once a turn.
  ///
  /// - Returns: the partitions whose log is not what it was.
  @discardableResult
  public mutating func turn(_ client: some GroupClient) -> [TopicPartition] {
    if !unasked.isEmpty { askForCommitted(client) }
    var findings: [RetentionGaps<TopicPartition>.Finding] = []
    if let answer = reader.takeAnswer() {
      let ends = answer.mapValues { (low: $0.low, high: $0.high) }
      findings = gaps.judge(ends)
      judgeStart(ends)
    }
    if !reader.isAsked {
      let wanted = Set(gaps.isCurious ? gaps.ask() : []).union(start.wanted)
        .union(hasWorked == nil ? outputs : [])
      if !wanted.isEmpty { reader.ask(Array(wanted)) }
    }
    return findings.map { report($0) }
  }

  /// The partitions that hold what the group has made of its records. They are asked about before anything is read.
  private var outputs: [TopicPartition] {
    plan.outputs.flatMap { topic in
      (0..<Int32(group.partitionCount(of: topic))).map {
        TopicPartition(topic: topic, partition: $0)
      }
    }
  }

  private mutating func judgeStart(_ ends: [TopicPartition: RetentionGaps<TopicPartition>.Ends]) {
    if hasWorked == nil {
      let known = outputs.compactMap { ends[$0]?.high }
      outputAttempts -= 1
      if known.contains(where: { $0 > 0 }) {
        hasWorked = true
      } else if !known.isEmpty && known.count == outputs.count || outputAttempts == 0 {
        hasWorked = false
      }
    }
    beginsWith = start.judge(ends) ?? beginsWith
    guard let hasWorked, let records = beginsWith else { return }
    beginsWith = nil
    reportStart(records, hasWorked: hasWorked)
  }

  private func reportStart(_ records: Int64, hasWorked: Bool) {
    guard hasWorked else {
      return log.info(
        "the group begins at the first records", ["group": plan.group, "records": "\(records)"])
    }
    log.error(
      "the group begins again at the first records: it has no offsets, or they were set back",
      [
        "group": plan.group, "records": "\(records)", "consequence": "it \(plan.cost)",
        "remedy": "stop all processes of the group, set its offsets to where it was"
          + " (kafka-consumer-groups.sh --reset-offsets --to-datetime, or --to-latest to leave the records out),"
          + " and start them",
      ])
  }

  private mutating func askForCommitted(_ client: some GroupClient) {
    guard let offsets = try? client.committed(unasked, timeoutMilliseconds: 1_000) else { return }
    unasked = []
    for entry in offsets {
      begins(entry.partition, committed: entry.offset)
      if let offset = entry.offset { gaps.begin(entry.partition, at: offset) }
    }
  }

  private mutating func report(_ finding: RetentionGaps<TopicPartition>.Finding) -> TopicPartition {
    switch finding {
    case .lost(let partition, let offsets):
      losses.append((partition, offsets))
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
