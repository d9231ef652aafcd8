// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import EventLoop
import HTTP2
import Kafka
import Pipeline
import Records
import ServiceKit

/// Outcomes go to Kafka, and what Kafka acknowledges is complete.
extension SenderLoop {
  /// What no repetition changes is tried again after this, in milliseconds: until somebody changes the topic.
  private static let pauseAfterRefusal: UInt64 = 1_000

  /// Ends a push: one receipt line and, for answers about the token, a feedback record before it.
  func finish(
    _ slot: UInt32, _ outcome: Outcome, answer: GatewayAnswer? = nil, feedback: Bool = false
  ) {
    counters.add(outcome.counter)
    let push = pushes[slot]
    recorder.ended(outcome, push.pointee.envelope.lane, push.pointee.envelope.environment)
    if feedback, let answer {
      publishFeedback(push, answer)
    } else {
      appendReceipt(push, outcome, answer, cause(of: outcome, push), to: &receipts.lines)
      receipts.lineAdded(for: push.pointee.origin, now: now)
      if receipts.isFull { launchReceipts() }
    }
    free(slot)
  }

  /// Why a push ended that no answer ended.
  private func cause(of outcome: Outcome, _ push: UnsafeMutablePointer<Push>) -> ReceiptCause? {
    switch outcome {
    case .delivered, .rejected: nil
    case .expired: push.pointee.envelope.hasExpired(at: wall) ? .expiration : .age
    case .deduplicated: .repeatedID
    case .suppressed: .invalidToken
    case .deadLettered: .retries
    }
  }

  private func appendReceipt(
    _ push: UnsafeMutablePointer<Push>, _ outcome: Outcome, _ answer: GatewayAnswer?,
    _ cause: ReceiptCause?, to lines: inout ByteBuffer
  ) {
    let envelope = push.pointee.envelope
    var line = ReceiptLine(outcome, at: wall)
    line.apnsID = push.pointee.field(envelope.idText)
    line.escapedID = push.pointee.field(envelope.requestID)
    line.app = push.pointee.field(envelope.app)
    line.environment = envelope.environment
    switch envelope.target {
    case .device: line.token = push.pointee.token
    case .channel: line.channel = push.pointee.token
    }
    line.lane = envelope.lane
    line.attempts = UInt16(clamping: push.pointee.life.attempts)
    line.created = envelope.created
    line.replay = push.pointee.field(envelope.replay)
    if let cause {
      line.reason = UnsafeRawBufferPointer(cause.code)
      line.detail = UnsafeRawBufferPointer(cause.detail)
    }
    guard answer != nil || outcome == .delivered else {
      return ReceiptEncoder.append(line, into: &lines)
    }
    line.retryAfter = push.pointee.exchange.retryAfter
    push.pointee.withAnswerIDs { unique, id, request in
      line.uniqueID = unique
      line.answeredID = id
      line.gatewayRequestID = request
      guard let answer else {
        line.status = 200
        return ReceiptEncoder.append(line, into: &lines)
      }
      line.status = answer.response.status
      line.timestamp = answer.response.timestamp
      if let cause {
        return withDetail(cause, answer) { detail in
          line.detail = detail
          ReceiptEncoder.append(line, into: &lines)
        }
      }
      line.detail = UnsafeRawBufferPointer(answer.response.meaning)
      Array(answer.reasonText.utf8).withUnsafeBytes { reason in
        line.reason = reason.isEmpty ? UnsafeRawBufferPointer(ReceiptCause.noReason) : reason
        ReceiptEncoder.append(line, into: &lines)
      }
    }
  }

  /// What a cause says, and with what APNs answered last.
  private func withDetail(
    _ cause: ReceiptCause, _ answer: GatewayAnswer, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    Array(cause.detail(after: answer.response.status, answer.reasonText).utf8)
      .withUnsafeBytes(body)
  }

  /// The receipt as a line of its own, for when it has to wait for a side record.
  private func receiptLine(
    _ push: UnsafeMutablePointer<Push>, _ outcome: Outcome, _ answer: GatewayAnswer?,
    _ cause: ReceiptCause? = nil
  ) -> [UInt8] {
    var line = ByteBuffer(capacity: 512)
    appendReceipt(push, outcome, answer, cause, to: &line)
    return Array(line.bytes)
  }

  private func publishFeedback(_ push: UnsafeMutablePointer<Push>, _ answer: GatewayAnswer) {
    let envelope = push.pointee.envelope
    let record = FeedbackRecord(
      device: DeviceKey(
        token: text(push.pointee.token), app: text(push.pointee.field(envelope.app)),
        environment: envelope.environment),
      topic: text(push.pointee.field(envelope.topic)), status: answer.response.status,
      reason: answer.reasonText, timestamp: answer.response.timestamp,
      apnsID: text(push.pointee.field(envelope.idText)), sentAt: push.pointee.sentAt, at: wall)
    publish(
      topics.feedback, key: record.key, value: record.value,
      SideRecord(
        origin: push.pointee.origin, receipt: receiptLine(push, .rejected, answer)))
  }

  /// Moves a push that failed to a retry topic.
  func park(_ slot: UInt32, _ tier: RetryTier, _ answer: GatewayAnswer?) {
    counters.add(.retried)
    Array((answer?.reasonText ?? "no answer").utf8).withUnsafeBytes { park(slot, tier, reason: $0) }
  }

  /// Moves a push to a retry topic.
  func park(_ slot: UInt32, _ tier: RetryTier, reason: UnsafeRawBufferPointer) {
    let push = pushes[slot]
    let life = push.pointee.life
    var value = ByteBuffer(capacity: Int(push.pointee.valueCount) + 64)
    // For one that was not sent here the time says since when it is held for this reason.
    let isHeldAgain = push.pointee.field(push.pointee.envelope.lastReason).elementsEqual(reason)
    let since = isHeldAgain || life.sends > 0 ? push.pointee.envelope.firstSeen : nil
    EnvelopeEncoder.encodeRetry(
      of: push.pointee.value, push.pointee.envelope,
      attempt: UInt16(clamping: life.countedAttempts),
      firstSeen: since ?? (life.sends > 0 ? push.pointee.sentAt : wall), reason: reason,
      into: &value)
    publish(
      topics.retries[Int(tier.rawValue)], key: Array(push.pointee.token),
      value: Array(value.bytes), SideRecord(origin: push.pointee.origin))
    free(slot)
  }

  /// Ends a push that cannot be delivered.
  func deadLetter(_ slot: UInt32, _ reason: DeadLetterReason, _ answer: GatewayAnswer?) {
    counters.add(.deadLettered)
    let push = pushes[slot]
    recorder.ended(.deadLettered, push.pointee.envelope.lane, push.pointee.envelope.environment)
    let cause: ReceiptCause =
      if reason != .noCredential {
        .retries
      } else if push.pointee.envelope.pushType.authentication == .certificate {
        .certificateNeeded
      } else {
        hasCertificateOnly(push) ? .certificateOnly : .noCredential
      }
    let headers =
      headers(
        reason, cause.detail(after: answer?.response.status, answer?.reasonText ?? ""),
        attempts: push.pointee.life.attempts, push.pointee.origin) + [
        KafkaHeader(
          DeadLetterHeader.apnsID, Array(push.pointee.field(push.pointee.envelope.idText)))
      ]
    publish(
      topics.deadLetters, key: Array(push.pointee.token), value: Array(push.pointee.value),
      headers: headers,
      SideRecord(
        origin: push.pointee.origin,
        receipt: receiptLine(push, .deadLettered, answer, cause)))
    free(slot)
  }

  /// Ends a record that is not a notification at all: no receipt, for there is no id to write one for.
  ///
  /// Anyone may have written it, with a larger value than our producer takes: such a one is cut, or the
  /// record would stay open for ever.
  func deadLetter(_ record: KafkaRecord, _ origin: Origin, detail: String) {
    counters.add(.deadLettered)
    counters.add(.invalidRecords)
    let cut = DeadLetterCut(key: record.key.count, value: record.value.count)
    publish(
      topics.deadLetters, key: Array(record.key.prefix(cut.key)),
      value: Array(record.value.prefix(cut.value)),
      headers: headers(.invalidEnvelope, detail + cut.remark, attempts: 0, origin),
      SideRecord(origin: origin))
  }

  private func headers(
    _ reason: DeadLetterReason, _ detail: String, attempts: Int, _ origin: Origin
  ) -> [KafkaHeader] {
    let name = partitions[Int(origin.partition)].name
    return [
      KafkaHeader(DeadLetterHeader.reason, reason.rawValue),
      KafkaHeader(DeadLetterHeader.detail, detail),
      KafkaHeader(DeadLetterHeader.stage, DeadLetterStage.sender.rawValue),
      KafkaHeader(DeadLetterHeader.attempts, "\(attempts)"),
      KafkaHeader(DeadLetterHeader.origin, "\(name.topic)/\(name.partition)/\(origin.offset)"),
      KafkaHeader(DeadLetterHeader.at, "\(wall)"),
    ]
  }

  private func publish(
    _ topic: KafkaTopic, key: [UInt8], value: [UInt8], headers: [KafkaHeader] = [],
    _ side: SideRecord
  ) {
    var side = side
    side.bytes = key.count + value.count
    side.watched = topics.watchedIndex(of: topic)
    let blocked = BlockedSide(topic: topic, key: key, value: value, headers: headers, side: side)
    if !blockedSides.isEmpty || !produce(blocked) { blockedSides.append(blocked) }
  }

  /// - Returns: false when the record has to wait.
  private func produce(_ record: BlockedSide) -> Bool {
    guard now >= refusedUntil else { return false }
    let slot = sides.add(record.side)
    let tag = DeliveryTag.side(slot: slot).value
    let result = record.key.withUnsafeBytes { key in
      record.value.withUnsafeBytes { value in
        producer.produce(record.topic, key: key, value: value, headers: record.headers, tag: tag)
      }
    }
    switch result {
    case .queued: return true
    case .full:
      _ = sides.remove(slot)
      return false
    case .refused(let error):
      _ = sides.remove(slot)
      blockedSides.insert(afterRefusal(record, error), at: 0)
      return true
    }
  }

  /// Tries again what the producer had no room for. Nothing is taken in until that is out.
  func retryBlockedSides() {
    guard !blockedSides.isEmpty else { return }
    var waiting = blockedSides
    blockedSides.removeAll()
    var sent = 0
    while sent < waiting.count, produce(waiting[sent]) { sent += 1 }
    waiting.removeFirst(sent)
    blockedSides += waiting
  }

  /// Sends the batch of receipts if its time has come: it is old enough, or there is nothing to wait for.
  func flushReceipts() {
    guard !receipts.isEmpty else { return }
    let isIdle = pushes.count == 0 && !canTakeMore
    if isIdle || receipts.isFull || now >= receipts.begun + ReceiptBatches.ageAtMost {
      launchReceipts()
    }
  }

  private func launchReceipts() {
    var hasRoom = now >= refusedUntil
    while hasRoom, let lines = receipts.nextAside {
      hasRoom = lines.withUnsafeBytes { launch($0) }
    }
    if hasRoom, !receipts.lines.isEmpty { hasRoom = launch(receipts.lines.bytes) }
    isProducerFull = !hasRoom
    if !hasRoom, receipts.isFull { receipts.putAside() }
  }

  /// - Returns: false when the batch has to wait.
  private func launch(_ lines: UnsafeRawBufferPointer) -> Bool {
    let slot = receipts.launchSlot()
    let tag = DeliveryTag.receipts(slot: slot).value
    let noKey = UnsafeRawBufferPointer(start: nil, count: 0)
    switch producer.produce(topics.receipts, key: noKey, value: lines, tag: tag) {
    case .queued:
      receipts.launched(in: slot)
      return true
    case .full: return false
    case .refused(let error):
      receipts.launched(in: slot)
      receipts.takeBack(slot, Array(lines))
      return receiptsAfterRefusal(error)
    }
  }

  /// Kafka's acknowledgements.
  func takeDeliveries() {
    producer.drainDeliveries(into: &deliveries)
    guard !deliveries.isEmpty else { return }
    isProducerFull = false
    for delivery in deliveries { landed(delivery) }
    deliveries.removeAll(keepingCapacity: true)
  }

  private func landed(_ delivery: Delivery) {
    if let error = delivery.refused { return takeBack(delivery.tag, error) }
    switch DeliveryTag(delivery.tag) {
    case .receipts(let slot): receipts.landed(in: slot) { complete($0) }
    case .side(let slot):
      let side = sides.remove(slot)
      if let watched = side.watched {
        holdBack?.acknowledged(
          watched, partition: delivery.partition, offset: delivery.offset, bytes: side.bytes)
      }
      if side.receipt.isEmpty { return complete(side.origin) }
      if !receipts.lines.isEmpty { receipts.lines.append(UInt8(ascii: "\n")) }
      receipts.lines.append(side.receipt)
      receipts.lineAdded(for: side.origin, now: now)
    }
  }

  /// Kafka does not take a record as it is: it is written again, smaller where that may help.
  private func takeBack(_ tag: UInt, _ error: KafkaError) {
    guard let record = producer.refusedRecord(tag) else {
      preconditionFailure("a refused record without its content")
    }
    switch DeliveryTag(tag) {
    case .receipts(let slot):
      receipts.takeBack(slot, record.value ?? [])
      _ = receiptsAfterRefusal(error)
    case .side(let slot):
      let blocked = BlockedSide(
        topic: record.topic, key: record.key ?? [], value: record.value ?? [],
        headers: record.headers, side: sides.remove(slot))
      blockedSides.append(afterRefusal(blocked, error))
    }
  }

  /// - Returns: whether the receipts may be written again at once.
  private func receiptsAfterRefusal(_ error: KafkaError) -> Bool {
    if error.isOfSize, receipts.halveNext() { return true }
    refusedUntil = now + Self.pauseAfterRefusal
    return false
  }

  private func afterRefusal(_ record: BlockedSide, _ error: KafkaError) -> BlockedSide {
    if error.isOfSize, record.topic == topics.deadLetters, let cut = record.cut() { return cut }
    refusedUntil = now + Self.pauseAfterRefusal
    return record
  }

  private func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes, as: UTF8.self)
  }

  /// Drops a push unsent: its partition's next owner sends the record.
  func handBack(_ slot: UInt32) {
    counters.add(.handedBack)
    let origin = pushes[slot].pointee.origin
    if origin.epoch == epochOfPartitions {
      partitions[Int(origin.partition)].handBack(pushes[slot].pointee.envelope.takenID)
    }
    free(slot)
  }

  /// Drops everything that waits unsent.
  func handBackWaiting() {
    for pool in pools {
      while let slot = pool?.waiting.popAny() { handBack(slot) }
      while let slot = pool?.apart.popFirst() { handBack(slot) }
    }
    while let slot = unresolved.popFirst() { handBack(slot) }
    for index in partitions.indices {
      if let held = partitions[index].held { handBack(held.slot) }
      partitions[index].held = nil
    }
    takeTurns()
  }
}

extension Outcome {
  /// The counter of this outcome.
  var counter: SenderCounter {
    switch self {
    case .delivered: .delivered
    case .rejected: .rejected
    case .expired: .expired
    case .deduplicated, .suppressed: .deduplicated
    case .deadLettered: .deadLettered
    }
  }
}
