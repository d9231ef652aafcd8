// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Store

/// What is to be done with one consumed record; a copy, so that Kafka's memory is free while it waits.
struct Job {
  enum Content {
    case feedback(FeedbackRecord)
    case device(DeviceRecord)
    /// A record that says nothing usable.
    case deadLetter(UnreadableRecord)
    /// A tombstone of `devices`: the device is forgotten. nil: one whose key is none of ours.
    case forgotten(DeviceKey?)
    /// A record of `receipts`: its lines, and how many of them cannot be used.
    case receipts([KeptReceipt], unusable: Int)
  }

  let partition: TopicPartition
  let offset: Int64
  /// The record's timestamp as it was written.
  var writtenAt: Int64 = -1
  let content: Content

  /// When its record was received (`OutsideTime`).
  ///
  /// - Parameter now: milliseconds since the epoch.
  func received(now: Int64) -> Int64 { OutsideTime.received(recordTime: writtenAt, now: now) }
}

/// Makes jobs of records.
struct JobReader {
  /// Names, made once.
  private let receiptsTopic: String
  private let devicesTopic: String
  private let parser = JSONParser()

  init(_ names: TopicNames) {
    receiptsTopic = names.receipts
    devicesTopic = names.devices
  }

  /// - Parameter topic: the name of its topic, which the record would make a copy of.
  func job(_ record: KafkaRecord, _ topic: String) -> Job {
    let partition = TopicPartition(topic: topic, partition: record.partition)
    if topic == receiptsTopic {
      return Job(
        partition: partition, offset: record.offset, writtenAt: record.writtenAt,
        content: receipts(
          record.value, partition.partition, record.offset,
          received: OutsideTime.received(
            recordTime: record.timestamp, now: WallClock.milliseconds())))
    }
    return Job(
      partition: partition, offset: record.offset, writtenAt: record.writtenAt,
      content: content(
        partition.topic, key: record.key, value: record.value, timestamp: record.timestamp,
        now: WallClock.milliseconds()))
  }

  /// The end of a record that crashed the process twice.
  func job(ofDeadly record: KafkaRecord, _ topic: String) -> Job {
    let refused = UnreadableRecord(
      reason: reason(of: topic), detail: DeadLetter.crashed,
      key: copy(record.key), value: copy(record.value))
    return Job(
      partition: TopicPartition(topic: topic, partition: record.partition), offset: record.offset,
      content: .deadLetter(refused))
  }

  /// What a record of a topic asks for. No time in it lies after its reception (`OutsideTime`).
  ///
  /// - Parameters:
  ///   - timestamp: the record's, milliseconds since the epoch; −1 for none.
  ///   - now: milliseconds since the epoch.
  func content(
    _ topic: String, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, timestamp: Int64,
    now: Int64
  ) -> Job.Content {
    let received = OutsideTime.received(recordTime: timestamp, now: now)
    let isDevice = topic == devicesTopic
    do throws(RecordError) {
      if isDevice && value.baseAddress == nil { return .forgotten(try erased(key)) }
      return isDevice ? try device(key, value, received) : try feedback(key, value, received)
    } catch {
      return .deadLetter(
        UnreadableRecord(
          reason: reason(of: topic), detail: "\(error)", key: copy(key), value: copy(value)))
    }
  }

  /// Why a record of a topic becomes a dead letter.
  func reason(of topic: String) -> DeadLetterReason {
    switch topic {
    case devicesTopic: .invalidDevice
    case receiptsTopic: .invalidReceipts
    default: .invalidFeedback
    }
  }

  /// The device that a tombstone is about; nil if no registration can have its key. Throws where another case is meant:
  /// nothing would be erased, and nobody told.
  private func erased(_ key: UnsafeRawBufferPointer) throws(RecordError) -> DeviceKey? {
    guard let device = DeviceKey(key: key), device.canBeKept else { return nil }
    if let token = try? DeviceToken.normalized(device.token), token != device.token {
      throw RecordError(
        record: "device", field: nil,
        problem: "is a tombstone whose key has not its token in lower case: it erases nothing")
    }
    return device
  }

  private func device(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ received: Int64
  ) throws(RecordError) -> Job.Content {
    var device = try DeviceRecord(value, parser: parser)
    try check(key, device.device, "device")
    let (time, field) =
      switch device.event {
      case .registered(let time): (time, "registered_at")
      case .removed(let time): (time, "removed_at")
      }
    // As the newest fact it would outlive all true ones.
    guard time - received <= OutsideTime.mostAhead else {
      throw RecordError(
        record: "device", field: field,
        problem: "is more than a day after the record itself (\(time)): a wrong clock or unit?")
    }
    switch device.event {
    case .registered: device.event = .registered(at: OutsideTime.bounded(time, received: received))
    case .removed: device.event = .removed(at: OutsideTime.bounded(time, received: received))
    }
    return .device(device)
  }

  private func feedback(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ received: Int64
  ) throws(RecordError) -> Job.Content {
    var feedback = try FeedbackRecord(value, parser: parser)
    try check(key, feedback.device, "feedback")
    // The sender writes it when the answer comes, or as soon as Kafka takes it: waves are counted by this time. So an
    // import is as old as its record: anybody who may write the topic could say that it is one.
    // Nothing in an answer is later than its record: a registration of the next minutes is.
    feedback.at = max(min(feedback.at, received), received - BadTokenWave.window)
    feedback.sentAt = min(feedback.sentAt, received)
    feedback.timestamp = feedback.timestamp.map { min($0, received) }
    return .feedback(feedback)
  }

  /// The key chooses the partition, and so who hears of a token and in which order.
  private func check(
    _ key: UnsafeRawBufferPointer, _ device: DeviceKey, _ kind: String
  ) throws(RecordError) {
    guard device.canBeKept else {
      throw RecordError(
        record: kind, field: "app",
        problem: "makes a key of more than \(DeviceKey.mostKept) bytes, or has a NUL")
    }
    guard !device.isKey(key) else { return }
    throw RecordError(
      record: kind, field: nil,
      problem: "has not the key <token>:<app>:<environment> of its value, token in lower case")
  }

  /// The lines of a record of `receipts`. Only what questions are about is looked at; the rest is kept as it stands. Their
  /// time is bounded by the record's: one in the far future would never go.
  func receipts(
    _ value: UnsafeRawBufferPointer, _ partition: Int32, _ offset: Int64, received: Int64
  ) -> Job.Content {
    var (kept, line, unusable): ([KeptReceipt], Int, Int) = ([], 0, 0)
    Receipt.forEachLine(in: value) { bytes in
      line += 1
      guard let receipt = try? ReceiptKeys(bytes, parser: parser),
        receipt.id?.utf8.count ?? 0 <= DeviceKey.mostKept,
        let text = String(validating: bytes, as: UTF8.self)
      else {
        unusable += 1
        return
      }
      // Without an app nobody may read it.
      guard let app = receipt.app else { return }
      kept.append(
        KeptReceipt(
          place: .init(partition: partition, offset: offset, line: line),
          at: OutsideTime.bounded(receipt.at, received: received), app: app,
          requestID: receipt.id, apnsID: receipt.apnsID, receipt: text))
    }
    return .receipts(kept, unusable: unusable)
  }

  private func copy(_ bytes: UnsafeRawBufferPointer) -> [UInt8]? {
    bytes.baseAddress == nil ? nil : Array(bytes)
  }
}

extension DeviceKey {
  /// The most bytes of a key of the database: an index of PostgreSQL takes no more than 2,700.
  static let mostKept = 1_024

  /// Whether a database of either kind can keep it. No text of PostgreSQL has a NUL: two devices would be one row.
  var canBeKept: Bool { description.utf8.count <= Self.mostKept && !description.utf8.contains(0) }
}
