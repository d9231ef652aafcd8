// SPDX-License-Identifier: Apache-2.0
import Delivery
package import Kafka

/// What is counted about the records that a service writes.
enum ProducerCounter: Int, CounterKey {
  /// Answers by which Kafka does not take a record: no right to write, no such topic, too large.
  case refusedByKafka
}

/// Says and counts that Kafka does not take a producer's records: nothing else would show why a process takes in
/// nothing more. Owned by the producer's thread.
package struct ProducerWatch {
  private let log: Logger
  private let counters = Counters<ProducerCounter>()
  private var counted = 0
  private var reminder = TroubleReminder()

  package init(_ context: ServiceContext) {
    log = context.log
    context.counters.add(counters)
  }

  /// To be called once a turn, or every some milliseconds.
  ///
  /// - Parameter now: monotonic milliseconds.
  package mutating func turn(_ producer: KafkaProducer, now: UInt64) {
    if producer.refusals != counted {
      counters.add(.refusedByKafka, producer.refusals - counted)
      counted = producer.refusals
    }
    let trouble = producer.trouble
    switch reminder.step(isTrouble: trouble != nil, now: now) {
    case .nothing: break
    case .say:
      guard let trouble else { return }
      log.error(
        "Kafka does not take records; they wait, and nothing more is taken in until it does",
        [
          "topic": trouble.topic ?? "", "waiting": "\(trouble.waiting)",
          "error": "\(trouble.error)", "remedy": trouble.error.remedy ?? "",
        ])
    case .sayThatItIsOver: log.info("Kafka takes records again")
    }
  }
}
