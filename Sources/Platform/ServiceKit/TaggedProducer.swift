// SPDX-License-Identifier: Apache-2.0
public import EventLoop
public import Kafka

/// A producer that keeps for each record, until Kafka has answered, what it is to the service that wrote it. Watches for
/// records that Kafka does not take, if it is given a watch.
///
/// Owned by one thread. What each record passes is inlinable, so that it is compiled for the service's tags.
public final class TaggedProducer<Tag> {
  /// Kafka's final answer to one record.
  public struct Answer {
    public let tag: Tag
    /// Where the record stands; −1 if the broker did not say, or refused it.
    public let offset: Int64
    public let partition: Int32
    /// Why Kafka will never take it as it is; nil when Kafka has it.
    public let refused: KafkaError?
    /// The same in words: the topic, the record's size, and the remedy.
    public let problem: String?

    @inlinable
    init(tag: Tag, offset: Int64, partition: Int32, refused: KafkaError?, problem: String?) {
      (self.tag, self.offset, self.partition) = (tag, offset, partition)
      (self.refused, self.problem) = (refused, problem)
    }
  }

  @usableFromInline let producer: KafkaProducer
  private var watch: ProducerWatch?
  /// By the numbers that Kafka's client has of the records without an answer.
  @usableFromInline var tags: [Tag?] = []
  @usableFromInline var free: [UInt] = []

  /// Creates the client; does not wait for a broker. Throws for properties that librdkafka does not take.
  ///
  /// - Parameters:
  ///   - wakeup: signalled when there are answers to take.
  ///   - watch: reports what Kafka does not take; nil where nobody waits for it.
  public init(
    _ configuration: KafkaConfiguration, wakeup: Wakeup? = nil, watch: ProducerWatch? = nil
  ) throws(KafkaError) {
    producer = try KafkaProducer(configuration, wakeup: wakeup)
    self.watch = watch
  }

  /// A topic that is known to exist.
  public func topic(_ name: String) throws(KafkaError) -> KafkaTopic {
    try producer.topic(known: name)
  }

  /// How many records wait for their answer.
  public var outstanding: Int { tags.count - free.count }
  /// Where it stands, as of the last answers that were taken.
  public var standing: ProducerSnapshot { producer.standing }
  /// Whether the next `produce` is sure to find no room.
  public var isFull: Bool { producer.isFull }

  /// Hands a record over; its answer brings the tag back.
  ///
  /// - Parameters:
  ///   - key: nil: any partition does.
  ///   - value: nil: a tombstone.
  /// - Returns: false when there is no room now.
  ///
  /// Throws when the client will never take it, as it is larger than `message.max.bytes`.
  @inlinable
  public func produce(
    _ topic: KafkaTopic, key: [UInt8]?, value: [UInt8]?, headers: [KafkaHeader] = [],
    as tag: Tag
  ) throws(KafkaError) -> Bool {
    try produce(as: tag) { producer, number in
      producer.produce(topic, key: key, value: value, headers: headers, tag: number)
    }
  }

  /// The same for a record that lies somewhere; copies its bytes.
  @inlinable
  public func produce(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?,
    headers: [KafkaHeader], as tag: Tag
  ) throws(KafkaError) -> Bool {
    try produce(as: tag) { producer, number in
      producer.produce(topic, key: key, value: value, headers: headers, tag: number)
    }
  }

  @inlinable
  func produce(
    as tag: Tag, _ body: (KafkaProducer, UInt) -> ProduceResult
  ) throws(KafkaError) -> Bool {
    if free.isEmpty {
      free.append(UInt(tags.count))
      tags.append(nil)
    }
    let number = free[free.count - 1]
    switch body(producer, number) {
    case .queued:
      free.removeLast()
      tags[Int(number)] = tag
    case .full: return false
    case .refused(let error): throw error
    }
    return true
  }

  /// The answers that have come since the last call. To be called every turn: repetitions happen here.
  @inlinable
  public func drainAnswers() -> [Answer] {
    let deliveries = producer.drainDeliveries()
    var answers: [Answer] = []
    answers.reserveCapacity(deliveries.count)
    for delivery in deliveries {
      guard let tag = tags[Int(delivery.tag)] else { continue }
      tags[Int(delivery.tag)] = nil
      free.append(delivery.tag)
      let refused = delivery.refused
      let problem = refused.map { producer.describe(refused: delivery.tag, $0) }
      answers.append(
        Answer(
          tag: tag, offset: delivery.offset, partition: delivery.partition, refused: refused,
          problem: problem))
    }
    return answers
  }

  /// Reports what Kafka does not take; every turn, with monotonic milliseconds.
  ///
  /// - Parameter refusal: what it has refused for good and its owner writes again (`ProducerWatch.turn`).
  public func lookAfter(now: UInt64, refusal: ProducerTrouble? = nil) {
    watch?.turn(producer, now: now, refusal: refusal)
  }

  /// Sends what waits without lingering, unless there is much of it (`KafkaProducer.sendPromptly`). At the end of a turn
  /// that found no further work.
  public func sendPromptly() { producer.sendPromptly() }

  /// Gives up every record without an answer (`KafkaProducer.abandon`).
  @discardableResult
  public func abandon() -> [Tag] {
    defer { (tags, free) = ([], []) }
    producer.abandon()
    return tags.compactMap(\.self)
  }

  /// Sends what waits without lingering, and waits for all answers, which `drainAnswers` brings.
  ///
  /// - Returns: whether every record has its answer.
  @discardableResult
  public func flush(timeoutMilliseconds: UInt64) -> Bool {
    producer.flush(timeoutMilliseconds: timeoutMilliseconds)
  }

  /// Ends the client. Records without an answer may or may not be stored.
  public func close() { producer.close() }
}
