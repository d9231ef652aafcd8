// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import Kafka
import ServiceKit
import Webhooks

/// Writes batches that an endpoint did not accept to the dead letters: one record per batch, whose value is the body
/// sent. The producer is created on first use.
struct DeadLetterWriter {
  private let kafka: KafkaConfiguration
  private let topicName: String
  private let context: ServiceContext
  private let subscription: Subscription
  private let wakeup: Wakeup
  /// A batch that Kafka does not have yet: its partition, its number of events, and its record.
  private struct Entry {
    let source: Source
    let count: Int
    var letter: OutgoingLetter
  }

  private var producer: TaggedProducer<Entry>?
  private var topic: KafkaTopic?
  /// Batches for which the producer's queue had no room.
  private var waiting: [Entry] = []

  init(
    _ kafka: KafkaConfiguration, _ topic: String, _ context: ServiceContext,
    _ subscription: Subscription, wakeup: Wakeup
  ) {
    self.kafka = kafka
    topicName = topic
    self.context = context
    self.subscription = subscription
    self.wakeup = wakeup
  }

  /// - Parameters:
  ///   - problem: the result of the last attempt.
  ///   - now: milliseconds since the epoch.
  mutating func write(
    _ batch: WebhookBatch, _ source: Source, topic: String, attempts: Int, problem: String,
    at now: Int64
  ) throws(ServiceFailure) {
    let origin = DeadLetterOrigin(
      topic: topic, partition: source.partition, offset: batch.offsets.lowerBound)
    let cut = DeadLetterCut(key: 0, value: batch.body.count)
    var letter = DeadLetter(
      .undelivered,
      "endpoint \(subscription.name), webhook-id \(batch.id), \(batch.count) events, offsets"
        + " \(batch.offsets.lowerBound) to \(batch.offsets.upperBound): \(problem)",
      by: .webhooks, attempts: attempts, from: origin, at: now)
    letter.note(cut)
    let record = OutgoingLetter(
      key: nil, value: Array(batch.body.prefix(cut.value)), headers: letter.kafkaHeaders)
    waiting.append(Entry(source: source, count: batch.count, letter: record))
    try flush()
  }

  private mutating func flush() throws(ServiceFailure) {
    while let next = waiting.first {
      do throws(KafkaError) {
        let (producer, topic) = try open()
        guard
          try producer.produce(
            topic, key: nil, value: next.letter.value, headers: next.letter.headers, as: next)
        else { return }
        waiting.removeFirst()
      } catch {
        guard error.isOfSize, let shorter = next.letter.cut() else {
          throw ServiceFailure("endpoint \(subscription.name): \(error)")
        }
        waiting[0].letter = shorter
      }
    }
  }

  private mutating func open() throws(KafkaError) -> (
    TaggedProducer<Entry>, KafkaTopic
  ) {
    if let producer, let topic { return (producer, topic) }
    let producer = try TaggedProducer<Entry>(
      kafka, wakeup: wakeup,
      watch: ProducerWatch(context, consequence: "events of this endpoint wait"))
    let topic = try producer.topic(topicName)
    (self.producer, self.topic) = (producer, topic)
    return (producer, topic)
  }

  /// The batches that Kafka has acknowledged since the last call. One that is too large for the topic is written again,
  /// cut.
  mutating func acknowledged() throws(ServiceFailure) -> [(source: Source, count: Int)] {
    guard let producer else { return [] }
    var stored: [(source: Source, count: Int)] = []
    for answer in producer.drainAnswers() {
      var entry = answer.tag
      guard let error = answer.refused else {
        stored.append((entry.source, entry.count))
        continue
      }
      guard error.isOfSize, let shorter = entry.letter.cut() else {
        throw ServiceFailure(
          "endpoint \(subscription.name): no dead letter: \(answer.problem ?? "\(error)")")
      }
      entry.letter = shorter
      waiting.append(entry)
    }
    try flush()
    return stored
  }

  func watch(now: UInt64) { producer?.lookAfter(now: now) }

  /// Abandons unacknowledged batches.
  mutating func abandon() {
    producer?.abandon()
    waiting = []
  }

  func close() { producer?.close() }
}
