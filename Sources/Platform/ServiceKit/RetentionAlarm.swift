// SPDX-License-Identifier: Apache-2.0
public import ConsumerGroup
public import EventLoop
public import Kafka
import Telemetry

/// The counters of the logs that a service reads.
enum RetentionCounter: Int, MetricTable {
  case lostToRetention, logsCut

  var row: MetricRow {
    switch self {
    case .lostToRetention:
      .counter(
        "martlet_kafka_records_lost_total",
        event: ServiceKitLog.recordsLost,
        "Records that retention removed before they were read: they are lost.")
    case .logsCut:
      .counter(
        "martlet_kafka_logs_truncated_total",
        event: ServiceKitLog.logEndsEarly,
        "Partitions found to end before the committed offset: truncated, or the topic was recreated."
      )
    }
  }
}

/// Asks the broker where logs begin and end (`LogWatch`), and says loudly and counts what is found. Owned by the
/// consumer's thread, which does not wait for the answers.
public struct RetentionAlarm {
  private let log: Logger
  private let counters = Counters<RetentionCounter>()
  private let plan: GroupPlan
  private let reader: WatermarkReader

  /// - Parameter wakeup: signalled when there is an answer to take.
  public init(
    _ context: ServiceContext, _ plan: GroupPlan, _ kafka: KafkaConfiguration, wakeup: Wakeup
  ) throws(SystemError) {
    log = context.log
    self.plan = plan
    reader = try WatermarkReader(kafka, context, wakeup: wakeup)
    context.counters.add(counters)
  }

  /// Asks nothing more. Waits until its Kafka client is gone, at most a second.
  public func close() { reader.close() }

  /// Asks for the ends of these logs. No other question may be open.
  func ask(_ partitions: [TopicPartition]) { reader.ask(partitions) }

  /// The answer, if it has come: what of it could be found out.
  func drainAnswer() -> [TopicPartition: RetentionGaps<TopicPartition>.Ends]? {
    reader.drainAnswer()?.mapValues { (low: $0.low, high: $0.high) }
  }

  func report(_ finding: GroupFinding<TopicPartition>) {
    switch finding {
    case .lost(let partition, let offsets): reportLoss(partition, offsets)
    case .endsBefore(let partition, let committed, let end):
      counters.add(.logsCut)
      log(
        ServiceKitLog.logEndsEarly,
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "committed": "\(committed)", "end": "\(end)",
        ])
    case .begins(let records, let again): reportStart(records, again)
    case .remade(let partitions):
      log(
        ServiceKitLog.logTruncated,
        ["partitions": partitions.map { "\($0)" }.joined(separator: " ")])
    }
  }

  private func reportLoss(_ partition: TopicPartition, _ offsets: Range<Int64>) {
    counters.add(.lostToRetention, offsets.count)
    log(
      ServiceKitLog.recordsLost,
      [
        "topic": partition.topic, "partition": "\(partition.partition)",
        "first": "\(offsets.lowerBound)", "last": "\(offsets.upperBound - 1)",
        "count": "\(offsets.count)",
      ])
  }

  private func reportStart(_ records: Int64, _ again: Bool) {
    guard again else {
      return log(ServiceKitLog.groupBegins, ["group": plan.group, "records": "\(records)"])
    }
    log(
      ServiceKitLog.offsetsMissing,
      [
        "group": plan.group, "records": "\(records)", "consequence": "it \(plan.cost)",
        "remedy": "stop all processes of the group, set its offsets to where it was"
          + " (kafka-consumer-groups.sh --reset-offsets --to-datetime, or --to-latest to leave the records out),"
          + " and start them",
      ])
  }
}
