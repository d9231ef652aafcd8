// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import JSON
import Kafka
import Records
import ServiceKit

/// Follows every topic that says something about notifications, without a group, and tells the auditor.
final class TopicReaders {
  /// The ids of a partition's records as they were read: nil for a record without a readable envelope.
  struct LaneLog {
    var offsets: [Int64] = []
    var ids: [NotificationID?] = []
    /// One past the newest record, whatever it is.
    var end: Int64 = 0
    /// Records before this place in the arrays were found closed when their offset was committed.
    var checked = 0
  }

  private let names: TopicNames
  private let tails: [KafkaTail]
  private let parser = JSONParser()
  private var batch = KafkaBatch(capacity: 500)
  /// One past the newest offset read, by partition.
  private(set) var positions: [TopicPartition: Int64] = [:]
  /// Records of lanes and retry topics.
  var lanes: [TopicPartition: LaneLog] = [:]
  private(set) var laneRecords = 0
  /// Records with a readable envelope among them, retries left out.
  private(set) var notifications = 0
  private(set) var unreadable = 0
  /// Records on retry topics by their reason, ever.
  private(set) var retryReasons: [String: Int] = [:]

  init(_ kafka: KafkaConfiguration, _ names: TopicNames) throws {
    self.names = names
    var topics = [names.receipts, names.deadLetters]
    topics += names.notifications
    topics += names.retries
    tails = try topics.map { try KafkaTail(kafka, topic: $0, from: .beginning) }
  }

  /// Records that the brokers dropped before they could be read.
  var missed: Int { tails.reduce(0) { $0 + $1.missed } }

  /// Every partition that is followed.
  var partitions: [TopicPartition] {
    tails.flatMap { tail in
      (0..<Int32(tail.partitions)).map { TopicPartition(topic: tail.topic, partition: $0) }
    }
  }

  /// Those that the senders' group reads.
  var lanePartitions: [TopicPartition] {
    partitions.filter { $0.topic != names.receipts && $0.topic != names.deadLetters }
  }

  /// Enters what has arrived, waiting at most 5 ms for the first; true when anything came.
  func turn(_ auditor: Auditor) -> Bool {
    var isNews = false
    for (index, tail) in tails.enumerated() {
      let count = tail.poll(into: &batch, timeoutMilliseconds: index == 0 ? 5 : 0)
      for place in 0..<count { receive(batch[place], of: tail.topic, auditor) }
      batch.release()
      if count > 0 { isNews = true }
    }
    return isNews
  }

  private func receive(_ record: KafkaRecord, of topic: String, _ auditor: Auditor) {
    let place = TopicPartition(topic: topic, partition: record.partition)
    positions[place] = record.offset + 1
    if topic == names.receipts || topic == names.deadLetters {
      guard !auditor.isPlanted(origin(place, record.offset)) else { return }
    }
    switch topic {
    case names.receipts: readReceipts(record, auditor)
    case names.deadLetters: readDeadLetter(record, auditor)
    default: readLane(record, place, auditor)
    }
  }

  private func readReceipts(_ record: KafkaRecord, _ auditor: Auditor) {
    Receipt.forEachLine(in: record.value) { line in
      if let receipt = try? Receipt(line, parser: parser) {
        auditor.receipt(receipt)
      } else {
        unreadable += 1
      }
    }
  }

  private func readDeadLetter(_ record: KafkaRecord, _ auditor: Auditor) {
    let letter = DeadLetter(record)
    auditor.deadLetter(
      letter.origin, id: letter.apnsID.flatMap { NotificationID($0) },
      isOneToken: letter.token != nil, isRequest: letter.origin?.topic == names.requests,
      reason: letter.reason.isEmpty ? "unknown" : letter.reason)
  }

  private func readLane(_ record: KafkaRecord, _ place: TopicPartition, _ auditor: Auditor) {
    lanes[place, default: LaneLog()].end = record.offset + 1
    // No notification: nothing is owed for it.
    if record.value.first == FreedID.mark, FreedID(record.value) != nil { return }
    let envelope = try? Envelope.parse(record.value.bindMemory(to: UInt8.self).span)
    let id = envelope?.id
    laneRecords += 1
    lanes[place, default: LaneLog()].offsets.append(record.offset)
    lanes[place, default: LaneLog()].ids.append(id)
    guard let id, let envelope else { return }
    let isRetry = names.retries.contains(place.topic)
    var retry: String?
    if isRetry {
      let reason = String(decoding: record.value[envelope.lastReason.indices], as: UTF8.self)
      retryReasons[reason, default: 0] += 1
      retry = "\(place.topic) after \(envelope.attempt) attempts, \(reason) (\(record.timestamp))"
    } else {
      notifications += 1
    }
    let app = String(decoding: record.value[envelope.app.indices], as: UTF8.self)
    let due =
      place.topic == names.retries(.longest) ? record.timestamp + RetryTier.longest.delay : nil
    auditor.laneRecord(
      id, retry: retry, due: due, end: Self.end(of: envelope),
      arrival: isRetry ? nil : (at: envelope.created, app: app))
    if envelope.hasStateKey, !isRetry {
      auditor.states.produced(id, token: String(decoding: record.key, as: UTF8.self))
    }
  }

  /// When a notification is of no more use: its own expiration, or the greatest age that senders allow by
  /// default.
  private static func end(of envelope: Envelope) -> Int64 {
    let age = Lanes.standard[envelope.lane].maxAge
    let aged = envelope.created + age
    guard let expiration = envelope.expiration, expiration != 0 else { return aged }
    return min(aged, expiration * 1_000)
  }

  /// Records on lanes and retry topics that nothing closes yet.
  func openRecords(_ auditor: Auditor) -> Int {
    var open = 0
    for (place, log) in lanes {
      for index in log.offsets.indices
      where !auditor.isClosed(log.ids[index], at: origin(place, log.offsets[index])) {
        open += 1
      }
    }
    return open
  }

  func origin(_ place: TopicPartition, _ offset: Int64) -> DeadLetterOrigin {
    DeadLetterOrigin(topic: place.topic, partition: place.partition, offset: offset)
  }

  func close() {
    for tail in tails { tail.close() }
  }
}
