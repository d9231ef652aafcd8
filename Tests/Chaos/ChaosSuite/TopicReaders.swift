// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit

/// Reads every topic about notifications, without a consumer group, and tells the auditor.
final class TopicReaders {
  /// The ids of a partition's records in the order of reading: nil for a record without a readable envelope.
  struct LaneLog {
    var offsets: [Int64] = []
    var ids: [NotificationID?] = []
    /// The offset after the newest record of any kind.
    var end: Int64 = 0
    /// Records before this index were found closed when their offset was committed.
    var checked = 0
  }

  private let names: TopicNames
  private let tails: [KafkaTail]
  private let parser = JSONParser()
  private var batch = KafkaBatch(capacity: 500)
  /// The offset after the newest one read, by partition.
  private(set) var positions: [TopicPartition: Int64] = [:]
  /// The records of lanes and retry topics.
  var lanes: [TopicPartition: LaneLog] = [:]
  private(set) var laneRecords = 0
  /// The number of records with a readable envelope, without retries.
  private(set) var notifications = 0
  private(set) var unreadable = 0
  /// The number of records on retry topics by reason.
  private(set) var retryReasons: [String: Int] = [:]

  init(_ kafka: KafkaConfiguration, _ names: TopicNames) throws {
    self.names = names
    var topics = [names.receipts, names.deadLetters]
    topics += names.notifications
    topics += names.retries
    tails = try topics.map { try KafkaTail(kafka, topic: $0, from: .beginning) }
  }

  /// The number of records that the brokers deleted before they could be read.
  var missed: Int { tails.reduce(0) { $0 + $1.missed } }

  /// All partitions that are read.
  var partitions: [TopicPartition] {
    tails.flatMap { tail in
      (0..<Int32(tail.partitions)).map { TopicPartition(topic: tail.topic, partition: $0) }
    }
  }

  /// The partitions that the senders' group reads.
  var lanePartitions: [TopicPartition] {
    partitions.filter { $0.topic != names.receipts && $0.topic != names.deadLetters }
  }

  /// Reads what has arrived, waiting at most 5 ms for the first record; returns whether there was any.
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
    // This is not a notification: no outcome is expected.
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

  /// The time at which a notification expires: its own expiration, or the senders' default maximum age.
  private static func end(of envelope: Envelope) -> Int64 {
    let age = Lanes.standard[envelope.lane].maxAge
    let aged = envelope.created + age
    guard let expiration = envelope.expiration, expiration != 0 else { return aged }
    return min(aged, expiration * 1_000)
  }

  /// The number of records on lanes and retry topics that are not accounted for yet.
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
