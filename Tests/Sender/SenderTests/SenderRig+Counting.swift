// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import JSON
import Kafka
import Records
import ServiceKit
import TestSupport

@testable import Sender

extension SenderRig {
  /// Produces notifications with consecutive numbers, and waits until Kafka has them.
  func sendMany(_ numbers: Range<Int>, app: String = SenderRig.app) throws {
    for number in numbers {
      try send(Self.token(number), Self.envelope(id: Self.id(number), app: app))
    }
    _ = producer.flush(timeoutMilliseconds: 30_000)
  }

  /// Produces `count` notifications with ids and tokens from `first` on.
  func sendMany(_ count: Int, from first: Int = 0) throws {
    try sendMany(first..<first + count)
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
