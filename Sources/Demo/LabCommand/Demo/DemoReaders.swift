// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import Telemetry

/// Reads receipts and dead letters, without a consumer group, and adds them to the ledger.
final class DemoReaders {
  /// The maximum number of receipts that wait for the end of the load: 64 MiB.
  private static let mostWaiting = 4 << 20

  private let receipts: KafkaTail
  private let deadLetters: KafkaTail
  private let admin: KafkaAdmin
  private let lanes: [TopicPartition]
  /// The number of records on the lanes before the run.
  private var laneStart: Int64 = 0
  private let parser = JSONParser()
  private var batch = KafkaBatch(capacity: 1_000)

  private(set) var latency = LatencyHistogram()
  private(set) var firstCreated = Int64.max
  private(set) var lastOutcome = Int64.min
  /// The number of receipts by outcome so far, for the progress line.
  private(set) var outcomes = [Int](repeating: 0, count: Outcome.allCases.count)
  private(set) var unreadable = 0
  /// The number of receipts read so far.
  private(set) var receiptCount = 0
  /// Delivered notifications that are not in the ledger yet.
  private var delivered: [NotificationID] = []

  init(_ kafka: KafkaConfiguration, _ names: TopicNames) throws {
    receipts = try KafkaTail(kafka, topic: names.receipts, from: .end)
    deadLetters = try KafkaTail(kafka, topic: names.deadLetters, from: .end)
    admin = try KafkaAdmin(kafka)
    let counts = try admin.partitionCounts(timeoutMilliseconds: 10_000)
    lanes = names.notifications.flatMap { topic in
      (0..<Int32(counts[topic] ?? 0)).map { TopicPartition(topic: topic, partition: $0) }
    }
    laneStart = try laneEnd()
  }

  /// The number of records that the brokers deleted before they could be read.
  var missed: Int { receipts.missed + deadLetters.missed }

  /// The number of notifications that ingest produced to the lanes during the run.
  func laneRecords() throws(KafkaError) -> Int { Int(try laneEnd() - laneStart) }

  private func laneEnd() throws(KafkaError) -> Int64 {
    var sum: Int64 = 0
    for lane in lanes { sum += try admin.watermarks(lane, timeoutMilliseconds: 10_000).high }
    return sum
  }

  /// Adds what has arrived, waiting at most 20 ms for the first record; returns whether there was any.
  func turn(_ ledger: DemoLedger) -> Bool {
    let some = readReceipts(ledger)
    return readDeadLetters(ledger) || some
  }

  private func readReceipts(_ ledger: DemoLedger) -> Bool {
    let count = receipts.poll(into: &batch, timeoutMilliseconds: 20)
    for index in 0..<count {
      Receipt.forEachLine(in: batch[index].value) { line in
        receiptCount += 1
        // Nearly all are delivered, and parsing one as JSON costs as much as sending the notification.
        if let push = ReceiptGlance(line)?.delivered { return note(push, ledger) }
        guard let receipt = try? Receipt(line, parser: parser) else {
          unreadable += 1
          return
        }
        enter(receipt, ledger)
      }
    }
    batch.release()
    return count > 0
  }

  /// The ledger is a large table: looking things up while the pipeline works takes time from the pipeline.
  private func note(_ push: (id: NotificationID, created: Int64, at: Int64), _ ledger: DemoLedger) {
    note(.delivered, created: push.created, at: push.at)
    delivered.append(push.id)
    if delivered.count >= Self.mostWaiting { settle(ledger) }
  }

  /// Adds what is waiting to the ledger.
  func settle(_ ledger: DemoLedger) {
    for id in delivered { ledger.receipt(id, .delivered, reason: nil) }
    delivered.removeAll(keepingCapacity: true)
  }

  private func note(_ outcome: Outcome, created: Int64?, at: Int64) {
    outcomes[Int(outcome.rawValue)] += 1
    lastOutcome = max(lastOutcome, at)
    guard let created else { return }
    firstCreated = min(firstCreated, created)
    if outcome == .delivered { latency.record(UInt64(max(0, at - created))) }
  }

  private func enter(_ receipt: Receipt, _ ledger: DemoLedger) {
    note(receipt.outcome, created: receipt.created, at: receipt.at)
    guard let id = receipt.apnsID else { return }
    ledger.receipt(id, receipt.outcome, reason: receipt.reason)
  }

  private func readDeadLetters(_ ledger: DemoLedger) -> Bool {
    let count = deadLetters.poll(into: &batch, timeoutMilliseconds: 0)
    for index in 0..<count { enter(deadLetter: batch[index], ledger) }
    batch.release()
    return count > 0
  }

  private func enter(deadLetter record: KafkaRecord, _ ledger: DemoLedger) {
    let letter = DeadLetter(record)
    let reason = letter.reason.isEmpty ? "unknown" : letter.reason
    if let id = letter.apnsID.flatMap({ NotificationID($0) }) {
      ledger.deadLetter(id, reason: reason)
    } else if let origin = letter.origin {
      ledger.deadLetter(
        partition: origin.partition, offset: origin.offset, isOneToken: letter.token != nil,
        reason: reason)
    } else {
      unreadable += 1
    }
  }

  func close() {
    receipts.close()
    deadLetters.close()
    admin.close()
  }
}
