// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import TestSupport

@testable import Sender

extension SenderRig {
  /// Produces one notification and waits for nothing.
  static func produce(
    _ producer: KafkaProducer, _ topic: KafkaTopic, _ key: String, _ value: String
  ) {
    _ = eventually {
      let result = Array(key.utf8).withUnsafeBytes { key in
        Array(value.utf8).withUnsafeBytes { value in
          producer.produce(topic, key: key, value: value, tag: 0)
        }
      }
      if case .queued = result { return true }
      return false
    }
  }

  /// Produces notifications with consecutive numbers, and waits until Kafka has them.
  func sendMany(_ numbers: Range<Int>, lane: Lane = .first, app: String = SenderRig.app) throws {
    let topic = try producer.topic(
      named: lane == .bulk ? names.notifications(.bulk) : names.notifications(.first))
    for number in numbers {
      Self.produce(
        producer, topic, Self.token(number),
        Self.envelope(id: Self.id(number), lane: lane, app: app))
    }
    _ = producer.flush(timeoutMilliseconds: 30_000)
  }

  /// The first receipts of these notifications, as far as they come in time.
  func receipts(
    of wanted: some Sequence<Int>, withinMilliseconds limit: UInt64 = 60_000
  ) throws -> [Receipt] {
    _ = producer.flush(timeoutMilliseconds: 30_000)
    var missing = Set(wanted.map { NotificationID(Self.id($0)) })
    let parser = JSONParser()
    var receipts: [Receipt] = []
    try fixture.configuration.read(
      names.receipts, withinMilliseconds: limit,
      { record in
        for receipt in try Receipt.all(in: record.value, parser: parser)
        where missing.remove(receipt.apnsID) != nil { receipts.append(receipt) }
      }, until: { _ in missing.isEmpty })
    return receipts
  }
}

extension [Receipt] {
  /// The receipts' times from request to outcome, in milliseconds, sorted.
  var latencies: [Int64] { map { $0.at - ($0.created ?? $0.at) }.sorted() }
}

extension [Int64] {
  /// The value below which this share of a sorted list lies.
  func quantile(_ share: Double) -> Int64 {
    isEmpty ? 0 : self[Swift.min(count - 1, Int(Double(count) * share))]
  }
}
