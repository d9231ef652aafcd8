// SPDX-License-Identifier: Apache-2.0
import Contract
public import Kafka
import Telemetry

/// The counters of the records that a service writes.
enum ProducerCounter: Int, MetricTable {
  case refusedByKafka, producersRefused, producersReplaced, producerQueue, producerQueueBytes

  var row: MetricRow {
    switch self {
    case .refusedByKafka:
      .counter(
        "martlet_kafka_records_refused_total", event: ServiceKitLog.recordsRefused,
        "Answers by which Kafka did not take a record: no right to write, no such topic, too large."
      )
    case .producersRefused:
      .gauge(
        "martlet_kafka_producers_refused", event: ServiceKitLog.recordsRefused,
        "Producers of this process with records that Kafka does not take at present.")
    case .producersReplaced:
      .counter(
        "martlet_kafka_producers_replaced_total",
        "Producers replaced after an error that ended theirs, such as a gap in an idempotent producer's sequence; what was"
          + " unanswered is produced again.")
    case .producerQueue:
      .gauge(
        "martlet_kafka_producer_queue_records",
        "Records handed to the producer that Kafka has not acknowledged.")
    case .producerQueueBytes:
      .gauge(
        "martlet_kafka_producer_queue_bytes",
        "Bytes of the records that Kafka has not acknowledged.")
    }
  }
}

/// Logs and counts that Kafka does not take a producer's records: nothing else would show why the process that
/// writes them does not go on. Owned by the producer's thread.
public struct ProducerWatch {
  /// The consequence of refused records for a process that reads as much as it can write.
  public static let intakeStops = "intake stopped"

  private let log: Logger
  private let rights: RightsBoard
  /// Topics that this user may not write to, as far as the producer knows.
  private var refused: [String] = []
  private let consequence: String
  private let counters = Counters<ProducerCounter>()
  private var counted = 0
  private var reminder = ProblemReminder()
  private let wait: UnacknowledgedWait
  /// One line while it lasts: what is wrong is the cluster's, and does not change with the time.
  private var unacknowledged = ProblemReminder(quiet: 0, interval: .max / 2)
  /// Since when the owner has had records that Kafka refuses for good (monotonic milliseconds).
  private var refusedSince: UInt64?

  /// - Parameter consequence: what stands still meanwhile, for the log.
  public init(_ context: ServiceContext, consequence: String = intakeStops) {
    log = context.log
    rights = context.rights
    self.consequence = consequence
    wait = context.status.producer()
    context.counters.add(counters)
  }

  /// To be called once a turn, or every some milliseconds.
  ///
  /// - Parameter refusal: records that Kafka has refused for good and that the owner writes again all the same: the
  ///   producer has none of them between two attempts.
  public mutating func turn(
    _ producer: KafkaProducer, now: UInt64, refusal: ProducerTrouble? = nil
  ) {
    if producer.refusals != counted {
      counters.add(.refusedByKafka, producer.refusals - counted)
      counted = producer.refusals
    }
    counters.set(.producerQueue, producer.outstanding)
    counters.set(.producerQueueBytes, producer.outstandingBytes)
    counters.set(.producersReplaced, producer.restarts)
    let trouble = producer.trouble ?? refusal
    refusedSince = refusal == nil ? nil : refusedSince ?? now
    counters.set(.producersRefused, trouble == nil ? 0 : 1)
    tell(producer)
    switch reminder.step(isFailing: trouble != nil, now: now) {
    case .nothing: break
    case .report:
      guard let trouble else { return }
      log(
        ServiceKitLog.recordsRefused,
        [
          "topic": trouble.topics.joined(separator: ", "), "waiting": "\(trouble.waiting)",
          "consequence": consequence, "error": "\(trouble.error)",
          "remedy": trouble.error.remedy ?? "",
        ])
    case .reportResolved: log(ServiceKitLog.recordsAccepted)
    }
    noteWait(producer, isRefused: trouble != nil, now: now)
  }

  /// A cluster that answers a write with "not now", or not at all, is waited for by librdkafka, which says nothing.
  private mutating func noteWait(_ producer: KafkaProducer, isRefused: Bool, now: UInt64) {
    let age = max(producer.oldestWait(now: now), refusedSince.map { now - $0 } ?? 0)
    wait.milliseconds = age
    switch unacknowledged.step(isFailing: age >= StatusBoard.writePatience, now: now) {
    case .nothing: break
    case .report where isRefused: break
    case .report:
      log(
        ServiceKitLog.recordsUnacknowledged,
        [
          "waiting": "\(producer.outstanding)", "seconds": "\(age / 1_000)",
          "consequence": consequence,
          "remedy":
            "too few replicas in sync (min.insync.replicas), a partition without a leader, or a full disk of a broker:"
            + " kafka-topics.sh --describe --under-min-isr-partitions, the brokers' logs, df",
        ])
    case .reportResolved: log(ServiceKitLog.recordsAcknowledged)
    }
  }

  /// Kafka has no question for the right to write: it is known by its refusal, and granted when a record was taken.
  private mutating func tell(_ producer: KafkaProducer) {
    let unwritable = producer.unwritable
    for topic in refused where !unwritable.contains(where: { $0.topic == topic }) {
      if producer.isTaking(topic) {
        rights.allowed(.write, .topic(topic))
      } else {
        rights.forget(.write, .topic(topic))
      }
    }
    for (topic, error) in unwritable { rights.refused(.write, .topic(topic), error) }
    if !refused.isEmpty || !unwritable.isEmpty { refused = unwritable.map(\.topic) }
  }
}
