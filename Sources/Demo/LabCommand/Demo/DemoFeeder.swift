// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
public import Kafka
import Records
import ServiceKit

/// Produces lines to the requests topic unchanged, and records their offsets in the ledger.
public final class DemoFeeder {
  private let producer: KafkaProducer
  private let topic: KafkaTopic
  private let topicName: String
  private let next: () throws -> UnsafeRawBufferPointer?
  private var line: UnsafeRawBufferPointer?
  private var number: UInt = 0
  private let wakeup: Wakeup
  private let parser = JSONParser()
  private var waiting: [UInt: [UInt8]] = [:]
  /// Lines with offsets that are not in the ledger yet, and their texts.
  private var placed: [(delivery: Delivery, text: [UInt8])] = []
  private var placedBytes = 0
  private let mostBytes: Int

  /// Lines that Kafka rejected permanently, by number.
  public private(set) var refused: [(line: UInt, error: KafkaError)] = []
  public private(set) var acknowledged = 0
  /// Lines that Kafka has without a known offset, because the response to a first attempt was lost. The ledger does not
  /// contain them.
  public private(set) var unplaced: [(partition: Int32, text: [UInt8])] = []

  /// - Parameters:
  ///   - mostBytes: The bytes that may wait for `settle`. The ledger needs each line's notifications, and computing
  ///     them while the pipeline works takes time from the pipeline.
  ///   - next: Returns the next line without its end, valid until the next call; nil after the last.
  public init(
    _ kafka: KafkaConfiguration, _ names: TopicNames, mostBytes: Int = 0,
    next: @escaping () throws -> UnsafeRawBufferPointer?
  ) throws {
    wakeup = Wakeup()
    producer = try KafkaProducer(kafka, wakeup: wakeup)
    topicName = names.requests
    topic = try producer.topic(named: topicName)
    self.mostBytes = mostBytes
    self.next = next
    try advance()
  }

  /// Whether Kafka has answered for every line.
  public var isDone: Bool { line == nil && producer.outstanding == 0 }

  /// The number of lines handed to Kafka without an answer yet.
  public var outstanding: Int { producer.outstanding }

  /// Produces up to `limit` lines if possible, and processes acknowledgements.
  public func turn(limit: Int, _ ledger: DemoLedger) throws {
    var count = 0
    while let line, count < limit, isOpen {
      let tag = number
      let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
      switch producer.produce(topic, key: noKey, value: line, tag: tag) {
      case .queued: waiting[tag] = Array(line)
      case .full: count = limit
      case .refused(let error): refused.append((tag, error))
      }
      guard count < limit else { break }
      count += 1
      try advance()
    }
    hear(ledger)
  }

  /// Advances to the next non-empty line.
  private func advance() throws {
    repeat {
      line = try next()
      number += 1
    } while line?.isEmpty == true
  }

  /// Whether more may be produced; every line without an answer is kept.
  private var isOpen: Bool { producer.outstandingBytes < 1 << 20 }

  private func hear(_ ledger: DemoLedger) {
    wakeup.clear()
    for delivery in producer.drainDeliveries() {
      guard let text = waiting.removeValue(forKey: delivery.tag) else { continue }
      if let error = delivery.refused {
        refused.append((delivery.tag, error))
        continue
      }
      acknowledged += 1
      guard delivery.offset >= 0 else {
        unplaced.append((delivery.partition, text))
        continue
      }
      placed.append((delivery, text))
      placedBytes += text.count
    }
    if placedBytes > mostBytes { settle(ledger) }
  }

  /// Adds what is waiting to the ledger.
  public func settle(_ ledger: DemoLedger) {
    for (delivery, text) in placed {
      let ids = text.withUnsafeBytes {
        RequestLine.ids(
          $0, topic: topicName, partition: delivery.partition, offset: delivery.offset,
          parser: parser)
      }
      ledger.produced(partition: delivery.partition, offset: delivery.offset, ids: ids)
    }
    placed.removeAll()
    placedBytes = 0
  }

  public func close() { producer.close() }
}
