// SPDX-License-Identifier: Apache-2.0
import Bytes
public import Contract
import EventLoop
import JSON
public import Kafka
import ServiceKit

/// Produces lines to the requests topic, as they are, and tells the ledger where each came to lie.
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
  /// Lines with their places that the ledger does not have yet, and the bytes of their texts.
  private var placed: [(delivery: Delivery, text: [UInt8])] = []
  private var placedBytes = 0
  private let mostBytes: Int

  /// Lines that Kafka will never take, by number.
  public private(set) var refused: [(line: UInt, error: KafkaError)] = []
  public private(set) var acknowledged = 0
  /// Lines that Kafka has without having said where: the answer to a first attempt was lost. The ledger does
  /// not know them.
  public private(set) var unplaced: [(partition: Int32, text: [UInt8])] = []

  /// - Parameters:
  ///   - mostBytes: how much may wait for `settle`. What notifications a line asks for is worked out for the ledger, and
  ///     while the pipeline works that is taken from the pipeline.
  ///   - next: the next line without its end, valid until it is called again; nil after the last.
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

  /// True if every line has its answer from Kafka.
  public var isDone: Bool { line == nil && producer.outstanding == 0 }

  /// Lines that were handed to Kafka and have no answer yet.
  public var outstanding: Int { producer.outstanding }

  /// Produces what may be produced now, at most `limit` lines, and hears what was acknowledged.
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

  /// Goes to the next line that is not empty.
  private func advance() throws {
    repeat {
      line = try next()
      number += 1
    } while line?.isEmpty == true
  }

  /// Every line that has no answer is kept.
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

  /// Enters into the ledger what waits for that.
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
