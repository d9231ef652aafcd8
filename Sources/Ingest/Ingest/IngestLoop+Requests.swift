// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EventLoop
import IngestDecisions
import Kafka
import Records
import ServiceKit

/// From a record to its notifications.
extension IngestLoop {
  /// Works on the batch at hand; false when it has to wait, in the middle of a request perhaps.
  func workOnBatch() -> Bool {
    while position < batch.count {
      if !output.machine.isExpanding {
        guard !output.machine.isFull else { return false }
        begin(batch[position])
        batch.prefetch(position + 1)
      }
      guard finishRequest() else { return false }
      position += 1
    }
    batch.release()
    position = 0
    return true
  }

  /// Takes a record in: reads it, and decides what is made of it.
  private func begin(_ record: KafkaRecord) {
    // Applications may write requests in transactions, whose markers have offsets and are no records.
    if record.isEndOfPartition {
      return member.ended(member.source(record), at: record.offset)
    }
    if let error = record.error {
      return context.report(error, as: IngestLog.kafkaError)
    }
    let source = member.source(record)
    let admission = member.admit(source, record)
    guard admission != .known else { return }
    counters.add(.requests)
    letterBytes = 0
    traceParent = traceParent(of: record)
    let created = OutsideTime.received(
      recordTime: record.timestamp, now: takenAt)
    output.machine.take(
      topic: UInt8(truncatingIfNeeded: source.topic), partition: record.partition,
      epoch: member.epoch, offset: record.offset, created: created)
    output.machine.make(read(record, source, admission, created: created))
  }

  private func read(
    _ record: KafkaRecord, _ source: Source, _ admission: GroupMember.Admission, created: Int64
  ) -> FanOut {
    scheduledAt = nil
    do throws(RequestError) {
      guard admission == .new else {
        // The reader forgets what the last request was.
        _ = try? reader.read(UnsafeRawBufferPointer(start: nil, count: 0))
        throw RequestError(nil, .crashed)
      }
      // Who may write that topic says what campaign a request belongs to, and nobody else.
      reader.takesCampaigns = source.topic != 0
      try reader.read(record.value, into: &request)
      // Its age, its send_at and its expiration would be counted from 1970.
      guard !OutsideTime.isOfOtherUnit(recordTime: record.timestamp) else {
        throw RequestError(nil, .recordTime(record.timestamp))
      }
      if request.isForSchedule {
        guard let time = try sendingTime(record, created) else {
          guard output.hasSchedule() else {
            throw RequestError(nil, .noSchedule(topic: output.scheduleName))
          }
          return .scheduled
        }
        begin(record, source, created: time)
        if request.isResolved {
          return request.isBroadcast ? .peopleBroadcast : .people(request.tokens.count)
        }
      } else {
        begin(record, source, created: created)
      }
      return request.isBroadcast ? .broadcast : .tokens(request.tokens.count)
    } catch {
      refusal = error
      return .refusal
    }
  }

  /// The notifications of the request at hand follow.
  ///
  /// - Parameter created: what its age counts from.
  private func begin(_ record: KafkaRecord, _ source: Source, created: Int64) {
    encoder.begin(request, created: created, traceParent: traceParent)
    naming.begin(
      request, topic: output.requestTopics[source.topic], partition: record.partition,
      offset: record.offset)
    invalidTokens.begin()
    if !request.warnings.isEmpty {
      counters.add(.ineffectivePayloads)
      warnings.add(request.warnings, of: request.app)
    }
  }

  /// The record's `traceparent` header; empty without one, or if it is none.
  private func traceParent(of record: KafkaRecord) -> UnsafeRawBufferPointer {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    guard let bytes = record.headerBytes(named: "traceparent") else { return none }
    if TraceParent.isValid(bytes.bindMemory(to: UInt8.self).span) { return bytes }
    counters.add(.invalidTraceParents)
    return none
  }

  /// Goes on with the request at hand; false when it has to wait.
  private func finishRequest() -> Bool {
    guard output.machine.isExpanding else { return true }
    while let step = output.machine.next {
      guard perform(step) else { return false }
      output.machine.made()
    }
    member.complete(output.machine.finish())
    return true
  }

  private func perform(_ step: FanOut.Step) -> Bool {
    switch step {
    case .refuse: output.mayProduce() && refuse(refusal)
    case .broadcast: output.mayProduce() && broadcast()
    case .notify(let index): output.mayProduce() && notify(index)
    case .schedule: output.mayProduce() && schedule()
    case .summarize: summarize()
    }
  }

  /// Makes the notification of one token; false when it has to wait.
  private func notify(_ index: Int) -> Bool {
    let digits: Int
    do throws(DeviceToken.Problem) {
      digits = try request.tokens.normalize(index, into: tokenText)
    } catch {
      return refuse(token: index, error)
    }
    let token = UnsafeRawBufferPointer(start: tokenText, count: digits)
    encoder.setID(request.apnsID ?? naming.id(token))
    if let cause = invalidTokens.suppression(of: token, in: request, scheduledAt: scheduledAt) {
      return suppress(token, cause)
    }
    guard produce(key: token) else { return false }
    if !DeviceToken.usualDigits.contains(digits) { counters.add(.unusualTokens) }
    return true
  }

  /// Makes the one notification of a broadcast; false when it has to wait.
  private func broadcast() -> Bool {
    encoder.setID(request.apnsID ?? naming.id(channel: request.channel))
    return produce(key: request.channel)
  }

  /// Hands the notification at hand to Kafka; false when it has to wait.
  private func produce(key: UnsafeRawBufferPointer) -> Bool {
    output.produce(output.topics.lanes[Int(request.lane.place)], key: key, value: encoder.value)
  }

  /// When the request at hand is sent, which is what its age counts from; nil if the schedule is to keep it, until its
  /// time (`SendTime`) or until it knows the devices of its users.
  private func sendingTime(_ record: KafkaRecord, _ created: Int64) throws(RequestError) -> Int64? {
    try request.checkSendAt(received: created)
    let released = released(record)
    if released == nil { try request.checkNamesDevice() }
    if request.isToUsers { return nil }
    // The devices of people are looked up when it is released: they are theirs.
    if !request.isResolved { scheduledAt = released?.accepted }
    guard let sendAt = request.sendAt else { return min(released?.accepted ?? created, created) }
    let waits = SendTime.waits(
      sendAt, written: record.timestamp, requeuedAt: released?.requeuedAt, now: takenAt)
    if waits, released == nil { try request.checkMayWait() }
    return waits ? nil : sendAt
  }

  /// The scheduler's header, if it released the request.
  private func released(_ record: KafkaRecord) -> (accepted: Int64, requeuedAt: Int64?)? {
    record.headerBytes(named: "scheduled").flatMap { ScheduledRequest.released($0) }
  }

  /// The API key that the request came with; empty for none, or where it is no text that a line can have.
  private func requester(_ record: KafkaRecord) -> String {
    guard let bytes = record.headerBytes(named: ScheduledRequest.byHeader),
      bytes.count <= ScheduledRequest.longestBy, !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F })
    else { return "" }
    return String(validating: bytes, as: UTF8.self) ?? ""
  }

  /// Hands the request at hand to the schedule; false when it has to wait.
  private func schedule() -> Bool {
    let record = batch[position]
    let released = released(record)
    let accepted = released?.accepted ?? output.machine.created
    var entry = ScheduledRequest(
      due: request.sendAt ?? accepted, accepted: accepted,
      requeuedAt: released.map { SendTime.requeue(now: takenAt, after: $0.requeuedAt) })
    entry.by = requester(record)
    if request.isToUsers { entry.recipients = Recipients(request) }
    scratch.removeAll()
    let key = ScheduleKey.append(request, to: &scratch)
    entry.append(to: &scratch, traceParent: traceParent, request: record.value)
    let bytes = scratch.bytes
    return output.produce(
      output.topics.schedule, key: UnsafeRawBufferPointer(rebasing: bytes[..<key]),
      value: UnsafeRawBufferPointer(rebasing: bytes[key...]), as: .scheduled)
  }

  /// The receipt of a request to people, once its notifications are made; false when it has to wait.
  private func summarize() -> Bool {
    guard output.hasRoomForReceipt() else { return false }
    var line = receiptLine(.addressed)
    line.channel = request.channel
    let count = request.isBroadcast ? 1 : request.tokens.count
    if count == 0 {
      line.reason = UnsafeRawBufferPointer(ReceiptCause.noDevice.code)
      line.detail = UnsafeRawBufferPointer(ReceiptCause.noDevice.detail)
    }
    scratch.removeAll()
    ReceiptEncoder.append(line, addressed: count, into: &scratch)
    output.add(Array(scratch.bytes))
    return true
  }

  // MARK: What does not become a notification

  /// A token to which nothing is sent: a receipt instead of a notification.
  private func suppress(_ token: UnsafeRawBufferPointer, _ cause: ReceiptCause) -> Bool {
    guard output.hasRoomForReceipt() else { return false }
    var line = receiptLine(.suppressed)
    line.apnsID = encoder.idText
    line.token = token
    line.reason = UnsafeRawBufferPointer(cause.code)
    line.detail = UnsafeRawBufferPointer(cause.detail)
    output.add(line)
    counters.add(.suppressed)
    return true
  }

  /// A bad token of a good request: a dead letter of its own.
  private func refuse(token index: Int, _ problem: DeviceToken.Problem) -> Bool {
    guard output.hasRoomForReceipt() else { return false }
    let error = RequestError(request.tokenField, .token(problem))
    let place = request.tokenField == .tokens ? " (entry \(index + 1))" : ""
    var letter = letter(.invalidToken, "\(error)\(place)", requestID: request.id)
    letter.token = Self.quoted(request.tokens[index])
    guard write(letter) else { return false }
    counters.add(.badTokens)
    guard !request.id.isEmpty else { return true }
    var line = receiptLine(.deadLettered)
    line.token = Self.beginning(of: request.tokens[index], 600)
    add(line, letter)
    return true
  }

  /// A bad request: a dead letter, and a receipt if it has an id.
  private func refuse(_ error: RequestError) -> Bool {
    guard output.hasRoomForReceipt() else { return false }
    let (id, app) = (reader.refusedID, reader.refusedApp)
    var text = reader.refusedIDText
    let letter = text.withUTF8 {
      self.letter(.invalidRequest, "\(error)", requestID: UnsafeRawBufferPointer($0))
    }
    guard write(letter) else { return false }
    counters.add(.badRequests)
    guard id.count > 0 && id.count <= 6 * RequestRules.maximumID else { return true }
    var line = ReceiptLine(.deadLettered, at: WallClock.milliseconds())
    line.escapedID = id
    line.app = app
    line.created = Self.created(batch[position].timestamp)
    scratch.removeAll()
    if !traceParent.isEmpty { CarriedFields.append(.traceParent, traceParent, to: &scratch) }
    if let campaign = reader.refusedCampaign {
      line.environment = campaign.environment
      CarriedFields.append(.campaign, campaign.name, to: &scratch)
    }
    if !scratch.isEmpty {
      line.carried = CarriedFields(UnsafeRawBufferPointer(rebasing: scratch.bytes[1...]))
    }
    add(line, letter)
    return true
  }

  /// A receipt line with what it says about the request at hand.
  private func receiptLine(_ outcome: Outcome) -> ReceiptLine {
    var line = ReceiptLine(outcome, at: WallClock.milliseconds())
    line.escapedID = request.escapedID
    line.app = request.app
    line.environment = request.environment
    line.lane = request.laneName
    line.carried = encoder.carried
    line.created = Self.created(batch[position].timestamp)
    return line
  }

  /// What a receipt says of a record's timestamp, which its writer chose; 0 where that is no time in milliseconds since
  /// 1970, with which nobody could read the receipt.
  static func created(_ timestamp: Int64) -> Int64 {
    OutsideTime.problem(timestamp) == nil ? timestamp : 0
  }

  private func add(_ line: ReceiptLine, _ letter: DeadLetter) {
    var line = line
    var reason = letter.reason
    var detail = letter.detail
    reason.withUTF8 { reason in
      detail.withUTF8 { detail in
        line.reason = UnsafeRawBufferPointer(reason)
        line.detail = UnsafeRawBufferPointer(detail)
        output.add(line)
      }
    }
  }

  /// Why the record at hand, or one token of it, ends here.
  ///
  /// - Parameter requestID: unescaped; may be empty.
  private func letter(
    _ reason: DeadLetterReason, _ detail: String, requestID: UnsafeRawBufferPointer
  ) -> DeadLetter {
    let record = batch[position]
    let origin = DeadLetterOrigin(
      topic: record.topic, partition: record.partition, offset: record.offset)
    var letter = DeadLetter(
      reason, detail, by: .ingest, from: origin, at: WallClock.milliseconds())
    if !requestID.isEmpty { letter.requestID = Self.quoted(requestID) }
    return letter
  }

  /// What a header may quote of a record, which may be of any length.
  private static func quoted(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes.prefix(DeadLetterHeader.longest), as: UTF8.self)
  }

  /// At most so many bytes of a text, up to the end of a character: receipts are UTF-8.
  static func beginning(of text: UnsafeRawBufferPointer, _ most: Int) -> UnsafeRawBufferPointer {
    var end = min(text.count, most)
    while end > 0, end < text.count, text[end] & 0xC0 == 0x80 { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: text[..<end])
  }

  /// Writes the record at hand to the dead letters, key and value as they came; false when it has to wait.
  private func write(_ letter: DeadLetter) -> Bool {
    let record = batch[position]
    let cut = DeadLetterCut(
      key: record.key.count, value: record.value.count, written: letterBytes)
    let key = UnsafeRawBufferPointer(rebasing: record.key.prefix(cut.key))
    let value = UnsafeRawBufferPointer(rebasing: record.value.prefix(cut.value))
    var letter = letter
    letter.note(cut)
    if !traceParent.isEmpty { letter.traceParent = String(decoding: traceParent, as: UTF8.self) }
    let isTaken = output.produce(
      letter, key: key, value: record.value.baseAddress == nil ? nil : value)
    if isTaken { letterBytes += key.count + value.count }
    return isTaken
  }
}
