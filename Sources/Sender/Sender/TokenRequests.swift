// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit

/// Asks the signer for provider tokens, each at most once in ten seconds: a backlog of one app must not
/// become a flood of requests. Owned by the control thread.
final class TokenRequests {
  private static let interval: UInt64 = 10_000
  /// What is asked for in such a time, at most: anyone may write notifications of apps that nobody has.
  static let most = 1_024

  private let producer: TaggedProducer<Void>
  private let topic: KafkaTopic
  private let topicName: String
  /// Why Kafka refused the last request that it answered, for good, and when it did.
  private var refusal: (error: KafkaError, at: UInt64)?
  private var askedAt: [[UInt8]: UInt64] = [:]
  /// When the oldest of them may be asked for again, as far as is known: before that none is forgotten.
  private var nextForgotten: UInt64 = 0
  /// What was asked for a moment ago.
  var remembered: Int { askedAt.count }
  /// Requests that Kafka has not acknowledged.
  var outstanding: Int { producer.outstanding }

  init(
    _ kafka: KafkaConfiguration, _ names: TopicNames, _ context: ServiceContext, wakeup: Wakeup
  ) throws(KafkaError) {
    producer = try TaggedProducer(
      kafka, wakeup: wakeup, watch: ProducerWatch(context, consequence: "token requests wait"))
    topicName = names.tokenRequests
    topic = try producer.topic(topicName)
  }

  /// Asks, unless the same was asked a moment ago. A request that Kafka has no room for, or that is one too many,
  /// is dropped: the need comes again with the next notification.
  func want(_ request: TokenRequest, now: UInt64 = MonotonicClock.milliseconds()) {
    if let last = askedAt[request.key], now - last < Self.interval { return }
    if askedAt.count >= Self.most, now >= nextForgotten { forget(now) }
    guard askedAt.count < Self.most else { return }
    askedAt[request.key] = now
    _ = try? producer.produce(topic, key: request.key, value: request.value, as: ())
  }

  private func forget(_ now: UInt64) {
    askedAt = askedAt.filter { now - $0.value < Self.interval }
    nextForgotten = (askedAt.values.min() ?? now) + Self.interval
  }

  /// Takes acknowledgements; to be called every turn.
  func turn(now: UInt64 = MonotonicClock.milliseconds()) {
    for answer in producer.drainAnswers() {
      refusal = answer.refused.map { (error: $0, at: now) }
    }
    // What was refused is asked for again if it is still needed.
    if let at = refusal?.at, now >= at + 2 * Self.interval { refusal = nil }
    producer.lookAfter(
      now: now,
      refusal: refusal.map { ProducerTrouble(waiting: 1, topics: [topicName], error: $0.error) })
  }

  func close() { producer.close() }
}
