// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import IngestDecisions
import Kafka
import Records
import ServiceKit

/// A notification, a record of the schedule or a dead letter that its topic does not take because of its size, on its way
/// to the dead letters.
struct OversizedRecord {
  /// The request's, which waits for it.
  let slot: Int
  let key: [UInt8]
  let value: [UInt8]?
  let headers: [KafkaHeader]
  /// The receipt to write with it; empty for a dead letter, which has had its own.
  let receipt: [UInt8]
}

/// Records that Kafka does not take as they are.
extension IngestOutput {
  /// What is too large for its topic becomes a dead letter, or a shorter one; anything else is for an operator to mend.
  func takeBack(_ delivery: Delivery, _ error: KafkaError) {
    guard let record = producer.refusedRecord(delivery.tag) else {
      preconditionFailure("a refused record without its content")
    }
    let tag = RecordTag(delivery.tag)
    guard error.isOfSize, tag.kind == .ofRequest,
      let letter = letter(for: record, slot: tag.slot, error)
    else {
      failure = ServiceFailure(producer.describe(record, error))
      return
    }
    oversized.append(letter)
  }

  /// The same for a notification that the client itself does not take.
  func takeBack(
    _ topic: KafkaTopic, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer,
    _ error: KafkaError
  ) {
    machine.expect()
    oversized.append(
      notification(topic, key: Array(key), value: Array(value), slot: machine.slot, error))
  }

  /// The same for a dead letter that the client itself does not take; false when there is nothing left to cut.
  func takeBack(
    _ letter: DeadLetter, key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?
  ) -> Bool {
    let shorter = shortened(
      Array(key), value.map { Array($0) }, letter.kafkaHeaders, slot: machine.slot, receipt: [])
    guard let shorter else { return false }
    machine.expect()
    oversized.append(shorter)
    return true
  }

  private func letter(
    for record: RefusedRecord, slot: Int, _ error: KafkaError
  ) -> OversizedRecord? {
    record.topic == topics.deadLetters
      ? shortened(record.key ?? [], record.value, record.headers, slot: slot, receipt: [])
      : notification(
        record.topic, key: record.key ?? [], value: record.value ?? [], slot: slot, error)
  }

  /// A dead letter that is too large, with less of its key and value; nil if there is nothing left to cut.
  private func shortened(
    _ key: [UInt8], _ value: [UInt8]?, _ headers: [KafkaHeader], slot: Int, receipt: [UInt8]
  ) -> OversizedRecord? {
    guard let cut = DeadLetterCut(ofRefusedKey: key.count, value: value?.count ?? 0) else {
      return nil
    }
    var letter = DeadLetter(headers)
    letter.note(cut)
    return OversizedRecord(
      slot: slot, key: Array(key.prefix(cut.key)), value: value.map { Array($0.prefix(cut.value)) },
      headers: letter.kafkaHeaders, receipt: receipt)
  }

  /// A notification that is too large as a dead letter: key and value are its own. Of a record of the schedule the value
  /// is the request as it came.
  private func notification(
    _ topic: KafkaTopic, key: [UInt8], value: [UInt8], slot: Int, _ error: KafkaError
  ) -> OversizedRecord {
    let name = producer.name(of: topic)
    let place = machine.entry(slot)
    let size = key.count + value.count
    let limit = sizeLimit(of: name)
    let isForSchedule = topic == topics.schedule
    let detail =
      "the \(isForSchedule ? "request" : "notification") has \(size) bytes, more than topic \(name)"
      + " takes; raise its max.message.bytes\(limit.map { " (it is \($0))" } ?? "") and replay this"
    var letter = DeadLetter(
      .recordTooLarge, detail, by: .ingest,
      from: DeadLetterOrigin(
        topic: String(decoding: requestTopics[Int(place.topic)], as: UTF8.self),
        partition: place.partition, offset: place.offset), at: WallClock.milliseconds())
    var receipt = ByteBuffer(capacity: 512)
    var kept = value
    value.withUnsafeBytes { value in
      if isForSchedule {
        kept = Array(request(in: value, isOfScheduler: place.topic != 0, &letter, to: &receipt))
        return
      }
      guard
        let envelope = try? Envelope.parse(
          value.bindMemory(to: UInt8.self).span, types: .any, lanes: .any)
      else {
        return
      }
      func field(_ range: ByteRange) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: value[range.indices])
      }
      letter.apnsID = String(decoding: field(envelope.idText), as: UTF8.self)
      let carried = envelope.carried(in: value)
      let traceParent = carried[.traceParent]
      if !traceParent.isEmpty {
        letter.traceParent = String(decoding: traceParent, as: UTF8.self)
      }
      key.withUnsafeBytes { key in
        Self.append(envelope, carried, key: key, field, detail, to: &receipt)
      }
    }
    context.log(
      IngestLog.tooLarge,
      [
        "topic": name, "bytes": "\(size)", "limit": limit ?? "", "error": "\(error)",
        "origin": letter.origin?.description ?? "", "remedy": error.remedy ?? "",
      ])
    counters.add(.tooLarge)
    return OversizedRecord(
      slot: slot, key: key, value: kept, headers: letter.kafkaHeaders,
      receipt: Array(receipt.bytes))
  }

  /// Completes the dead letter of a record for the schedule, and writes its receipt.
  ///
  /// - Returns: the request as it came, which a replay hands in again.
  private func request(
    in value: UnsafeRawBufferPointer, isOfScheduler: Bool, _ letter: inout DeadLetter,
    to receipt: inout ByteBuffer
  ) -> UnsafeRawBufferPointer {
    let content = ScheduleRecord.request(in: value)
    refusedReader.takesCampaigns = isOfScheduler
    guard case .request(let entry)? = try? ScheduleRecord(value),
      let request = try? refusedReader.read(content)
    else { return content }
    letter.requestID = String(decoding: request.id, as: UTF8.self)
    if !entry.traceParent.isEmpty { letter.traceParent = entry.traceParent }
    var line = ReceiptLine(.deadLettered, at: WallClock.milliseconds())
    line.escapedID = request.escapedID
    line.app = request.app
    line.environment = request.environment
    line.lane = request.laneName
    line.created = entry.accepted
    var carried = ByteBuffer(capacity: 512)
    if !entry.traceParent.isEmpty {
      Array(entry.traceParent.utf8).withUnsafeBytes {
        CarriedFields.append(.traceParent, $0, to: &carried)
      }
    }
    for field in [CarriedField.group, .campaign] where !request[field].isEmpty {
      CarriedFields.append(field, request[field], to: &carried)
    }
    Array(carried.bytes).withUnsafeBytes { fields in
      if !fields.isEmpty {
        line.carried = CarriedFields(UnsafeRawBufferPointer(rebasing: fields[1...]))
      }
      Self.append(line, letter.detail, to: &receipt)
    }
    return content
  }

  /// A topic's max.message.bytes, asked of the cluster once a minute at most; nil where it does not say.
  private func sizeLimit(of topic: String) -> String? {
    let now = MonotonicClock.milliseconds()
    if let known = sizeLimits[topic], now < known.until { return known.limit }
    var limit: String?
    if let admin = try? KafkaAdmin(settings.kafka) {
      let settings = try? admin.topicSettings([topic], timeoutMilliseconds: 1_000)
      limit = settings?[topic]?["max.message.bytes"]
      admin.close()
    }
    sizeLimits[topic] = (limit, now + 60_000)
    return limit
  }

  private static func append(
    _ envelope: Envelope, _ carried: CarriedFields, key: UnsafeRawBufferPointer,
    _ field: (ByteRange) -> UnsafeRawBufferPointer, _ detail: String, to receipt: inout ByteBuffer
  ) {
    var line = ReceiptLine(.deadLettered, at: WallClock.milliseconds())
    line.apnsID = field(envelope.idText)
    line.escapedID = field(envelope.requestID)
    line.app = field(envelope.app)
    line.environment = envelope.environment
    line.lane = field(envelope.laneText)
    line.carried = carried
    line.created = envelope.created
    switch envelope.target {
    case .device: line.token = key
    case .channel: line.channel = key
    }
    append(line, detail, to: &receipt)
  }

  private static func append(_ line: ReceiptLine, _ detail: String, to receipt: inout ByteBuffer) {
    var line = line
    var reason = DeadLetterReason.recordTooLarge.rawValue
    var detail = detail
    reason.withUTF8 { reason in
      detail.withUTF8 { detail in
        line.reason = UnsafeRawBufferPointer(reason)
        line.detail = UnsafeRawBufferPointer(detail)
        ReceiptEncoder.append(line, into: &receipt)
      }
    }
  }

  /// Writes the letters, as far as Kafka has room. Their requests are complete when Kafka has them.
  func writeOversized() {
    while let next = oversized.first {
      guard next.receipt.isEmpty || !receipts.isFull else { return sendReceipts() }
      let tag = RecordTag(.ofRequest, slot: next.slot).number
      let result = producer.produce(
        topics.deadLetters, key: next.key, value: next.value, headers: next.headers, tag: tag)
      switch result {
      case .full: return
      case .refused(let error):
        let shorter =
          error.isOfSize
          ? shortened(next.key, next.value, next.headers, slot: next.slot, receipt: next.receipt)
          : nil
        guard let shorter else {
          failure = ServiceFailure("Kafka refuses dead letters: \(error)")
          return
        }
        oversized[0] = shorter
        continue
      case .queued: break
      }
      if !next.receipt.isEmpty {
        machine.expect(next.slot)
        receipts.append(next.receipt, for: next.slot, now: MonotonicClock.milliseconds())
      }
      oversized.removeFirst()
    }
  }
}
