// SPDX-License-Identifier: Apache-2.0
import Delivery
import EventLoop
import Kafka
import Pipeline
import ServiceKit
import Webhooks

/// Writes what an endpoint did not take to the dead letters: one record for a batch, its value the body that was sent.
/// The producer is made when there is something to write.
struct DeadLetterWriter {
  private let kafka: KafkaConfiguration
  private let topicName: String
  private let context: ServiceContext
  private let subscription: Subscription
  private let wakeup: Wakeup
  private var producer: KafkaProducer?
  private var topic: KafkaTopic?
  private var watcher: ProducerWatch?
  /// Batches that Kafka has not acknowledged, by their tags, and how many events they have.
  private var outstanding: [UInt: (source: Source, count: Int)] = [:]
  private var number: UInt = 0
  /// Batches that the producer had no room for.
  private var waiting: [(source: Source, count: Int, value: [UInt8], headers: [KafkaHeader])] = []

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
  ///   - topic: that the events come from.
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
    waiting.append(
      (source, batch.count, Array(batch.body.prefix(cut.value)), letter.kafkaHeaders))
    try flush()
  }

  private mutating func flush() throws(ServiceFailure) {
    while let next = waiting.first {
      let (producer, topic) = try open()
      number += 1
      let result = next.value.withUnsafeBytes { value in
        producer.produce(
          topic, key: UnsafeRawBufferPointer(start: nil, count: 0), value: value,
          headers: next.headers, tag: number)
      }
      switch result {
      case .queued:
        outstanding[number] = (next.source, next.count)
        waiting.removeFirst()
      case .full: return
      case .refused(let error): throw ServiceFailure("endpoint \(subscription.name): \(error)")
      }
    }
  }

  private mutating func open() throws(ServiceFailure) -> (KafkaProducer, KafkaTopic) {
    if let producer, let topic { return (producer, topic) }
    do throws(KafkaError) {
      let producer = try KafkaProducer(kafka, wakeup: wakeup)
      let topic = try producer.topic(known: topicName)
      (self.producer, self.topic) = (producer, topic)
      watcher = ProducerWatch(context, consequence: "events of this endpoint wait")
      return (producer, topic)
    } catch {
      throw ServiceFailure("endpoint \(subscription.name): \(error)")
    }
  }

  /// The batches that Kafka has acknowledged since the last call.
  mutating func acknowledged() throws(ServiceFailure) -> [(source: Source, count: Int)] {
    guard let producer else { return [] }
    try flush()
    var deliveries: [Delivery] = []
    producer.drainDeliveries(into: &deliveries)
    var done: [(source: Source, count: Int)] = []
    for delivery in deliveries {
      guard let entry = outstanding.removeValue(forKey: delivery.tag) else { continue }
      if let error = delivery.refused {
        throw ServiceFailure("endpoint \(subscription.name): no dead letter: \(error)")
      }
      done.append(entry)
    }
    return done
  }

  mutating func watch(now: UInt64) {
    if let producer { watcher?.turn(producer, now: now) }
  }

  /// Nothing that is not acknowledged counts any more.
  mutating func abandon() {
    if let producer { _ = producer.abandon() }
    outstanding = [:]
    waiting = []
  }

  func close() { producer?.close() }
}
