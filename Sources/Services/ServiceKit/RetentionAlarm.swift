// SPDX-License-Identifier: Apache-2.0
import Delivery
package import Kafka

/// What is counted about the logs that a service reads.
enum RetentionCounter: Int, CounterKey {
  /// Records that were removed from a log before they were read.
  case lostToRetention
  /// Logs found to end before the offset that the group had committed.
  case logsCut
}

/// Watches that a group's consumer passes over nothing in silence: what retention removed before it was read is
/// counted and said loudly. Owned by the consumer's thread; asks the broker only when offsets did not come as they
/// should, and once for each partition after an assignment.
package struct RetentionAlarm {
  /// Questions asked in one turn: each is a round trip.
  private static let questionsATurn = 8

  private let log: Logger
  private let counters = Counters<RetentionCounter>()
  private var gaps = RetentionGaps<TopicPartition>()
  /// Partitions whose committed offset is not known yet.
  private var unasked: [TopicPartition] = []

  package init(_ context: ServiceContext) {
    log = context.log
    context.counters.add(counters)
  }

  /// Partitions were assigned; where they go on is to be asked of the group's coordinator.
  package mutating func assigned(_ partitions: [TopicPartition]) { unasked = partitions }

  /// A partition was assigned and goes on at this offset.
  package mutating func assigned(_ partition: TopicPartition, at offset: Int64) {
    gaps.begin(partition, at: offset)
  }

  /// These offsets did not come.
  package mutating func jumped(_ partition: TopicPartition, _ offsets: Range<Int64>) {
    gaps.jumped(partition, offsets)
  }

  /// The partitions were given back.
  package mutating func released() {
    unasked = []
    gaps.dropQuestions()
  }

  /// Asks what there is to ask, counts and logs what is found. To be called once a turn.
  ///
  /// - Returns: the partitions whose log is not what it was.
  @discardableResult
  package mutating func turn(_ consumer: KafkaGroupConsumer) -> [TopicPartition] {
    if !unasked.isEmpty { askForCommitted(consumer) }
    guard gaps.isCurious else { return [] }
    let findings = gaps.judge(atMost: Self.questionsATurn) { partition in
      consumer.watermarks(of: partition).map { ($0.low, $0.high) }
    }
    return findings.map(report)
  }

  private mutating func askForCommitted(_ consumer: KafkaGroupConsumer) {
    guard let offsets = try? consumer.committed(unasked, timeoutMilliseconds: 1_000) else { return }
    unasked = []
    for entry in offsets {
      if let offset = entry.offset { gaps.begin(entry.partition, at: offset) }
    }
  }

  private func report(_ finding: RetentionGaps<TopicPartition>.Finding) -> TopicPartition {
    switch finding {
    case .lost(let partition, let offsets):
      counters.add(.lostToRetention, offsets.count)
      log.error(
        "records were removed by retention before they were read: they are lost",
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "first": "\(offsets.lowerBound)", "last": "\(offsets.upperBound - 1)",
          "count": "\(offsets.count)",
        ])
      return partition
    case .endsBefore(let partition, let committed, let end):
      counters.add(.logsCut)
      log.error(
        "the log ends before the committed offset: it was cut, or the topic was made again",
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "committed": "\(committed)", "end": "\(end)",
        ])
      return partition
    }
  }
}
