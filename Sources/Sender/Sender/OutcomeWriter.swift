// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTP2
import Kafka
import Records
import SenderDecisions
import ServiceKit

/// Keeps the bytes of one loop's pushes, and writes down what each of them ends in.
///
/// Owner: one sender loop.
final class OutcomeWriter {
  private let publisher: Publisher
  @exclusivity(unchecked) private var pushes = PushTable()
  /// Milliseconds since the epoch of this turn.
  @exclusivity(unchecked) private var wall: Int64 = 0
  private let parser = JSONParser()
  /// For what every push does.
  private let recorder: LoopTelemetry.Recorder

  /// Pushes that end without being accepted free their ids.
  private let freesIDs: Bool

  init(_ publisher: Publisher, _ recorder: LoopTelemetry.Recorder, freesIDs: Bool) {
    self.freesIDs = freesIDs
    self.publisher = publisher
    self.recorder = recorder
  }

  func beginTurn(wall: Int64) { self.wall = wall }

  /// The push in a slot.
  subscript(_ slot: UInt32) -> UnsafeMutablePointer<Push> { pushes[slot] }

  /// Asks for what the end of a push needs.
  func prefetch(_ slot: UInt32) { pushes.prefetch(slot) }

  /// Copies a record into its slot.
  func fill(_ slot: UInt32, _ record: KafkaRecord, _ envelope: Envelope) {
    pushes.fill(slot, key: record.key, value: record.value, envelope)
  }

  /// The answer to a push, other than 200, with the words that its body still has.
  func answer(to slot: UInt32) -> GatewayAnswer {
    let push = pushes[slot]
    return GatewayAnswer(
      status: push.pointee.exchange.status, id: push.pointee.exchange.answerID,
      body: push.pointee.exchange.responseBytes, parser: parser)
  }

  /// The same for an answer that has been read: the words of a reason that is known are its name.
  func answer(_ response: GatewayResponse, to slot: UInt32) -> GatewayAnswer {
    response.reason.map { GatewayAnswer(response, reasonText: $0.name) } ?? answer(to: slot)
  }

  /// APNs has answered a push, with whatever.
  func noteAnswer(_ slot: UInt32, sentAt: Int64) {
    let push = pushes[slot]
    recorder.answered(push.pointee.envelope.environment, sent: sentAt, now: wall)
  }

  // MARK: Ends of pushes

  func finish(
    _ slot: UInt32, _ outcome: Outcome, _ cause: ReceiptCause?, _ answer: GatewayResponse?,
    _ ending: PushEnding
  ) {
    let end = end(slot, outcome, cause, answer, ending.attempts)
    record(slot, outcome, app: ending.app)
    if outcome == .rejected, let answer, mayFree(answer) {
      free(slot, ending.origin, receipt: pushes[slot].receipt(end))
    } else {
      publisher.writeReceipt(pushes[slot], end, ending.origin)
    }
    pushes.empty(slot)
  }

  private func mayFree(_ answer: GatewayResponse) -> Bool { freesIDs && !answer.takesID }

  /// Writes that the id of a push can be sent again.
  @inline(never)
  private func free(_ slot: UInt32, _ origin: Origin?, receipt: [UInt8] = []) {
    let push = pushes[slot]
    var value = ByteBuffer(capacity: 192)
    FreedID.append(of: push.pointee.value, push.pointee.envelope, to: &value)
    publisher.writeFreedID(
      push.pointee.envelope.lane, key: Array(push.pointee.token), value: Array(value.bytes), origin,
      receipt: receipt)
  }

  private func record(_ slot: UInt32, _ outcome: Outcome, app: UInt64) {
    let push = pushes[slot]
    recorder.ended(
      outcome, push.pointee.envelope.lane, push.pointee.envelope.environment, app: app)
    guard outcome == .delivered || outcome == .rejected else { return }
    recorder.settled(
      push.pointee.envelope.lane, created: push.pointee.envelope.created, now: wall)
  }

  private func end(
    _ slot: UInt32, _ outcome: Outcome, _ cause: ReceiptCause?, _ answer: GatewayResponse?,
    _ attempts: Int
  ) -> PushEnd {
    PushEnd(
      outcome: outcome, cause: cause, answer: answer.map { self.answer($0, to: slot) },
      attempts: attempts, at: wall)
  }

  /// Rejected for its device token.
  func writeFeedback(_ slot: UInt32, _ answer: GatewayResponse, _ state: PushState) {
    let push = pushes[slot]
    let envelope = push.pointee.envelope
    let record = FeedbackRecord(
      device: DeviceKey(
        token: text(push.pointee.token), app: text(push.pointee.field(envelope.app)),
        environment: envelope.environment),
      topic: text(push.pointee.field(envelope.topic)), status: answer.status,
      reason: self.answer(answer, to: slot).reasonText, timestamp: answer.timestamp,
      apnsID: text(push.pointee.field(envelope.idText)), sentAt: state.sentAt, at: wall)
    let end = end(slot, .rejected, nil, answer, state.life.attempts)
    self.record(slot, .rejected, app: state.app)
    if mayFree(answer) { free(slot, nil) }
    publisher.writeFeedback(record, state.origin, receipt: push.receipt(end))
    pushes.empty(slot)
  }

  /// Moves a push to a retry topic.
  ///
  /// - Parameter name: of the partition that it came from.
  func park(
    _ slot: UInt32, _ tier: RetryTier, _ reason: ParkReason, _ state: PushState,
    from name: TopicPartition
  ) {
    let push = pushes[slot]
    if case .failure(let answer) = reason {
      Array(failure(answer, of: slot).utf8).withUnsafeBytes {
        writeRetry(push, tier, $0, state, name)
      }
    } else if let text = reason.text {
      // The time that its device's pace has given it stands in the place of that since which it waits.
      writeRetry(
        push, tier, UnsafeRawBufferPointer(text), state, name,
        reserved: reason == .devicePace ? state.reservedAt : nil)
    }
    pushes.empty(slot)
  }

  /// Writes a push, whose retry is due, to its lane: as it is, with its history.
  ///
  /// - Parameters:
  ///   - name: of the partition that it came from.
  ///   - tier: of that, for a push without a key: where its record was tells the new one from those before.
  func returnToLane(
    _ slot: UInt32, _ state: PushState, _ name: TopicPartition, _ tier: RetryTier?
  ) {
    let push = pushes[slot]
    let envelope = push.pointee.envelope
    var value = Array(push.pointee.value)
    if let tier {
      var buffer = ByteBuffer(capacity: value.count + 64)
      EnvelopeEncoder.encodeRetry(
        of: push.pointee.value, envelope, attempt: envelope.attempt,
        firstSeen: envelope.firstSeen ?? wall, reason: push.pointee.field(envelope.lastReason),
        position: LanePosition(
          partition: name.partition, offset: state.origin.offset, moves: 0, tier: tier),
        into: &buffer)
      value = Array(buffer.bytes)
    }
    publisher.writeToLane(
      envelope.lane, key: Array(push.pointee.token), value: value, state.origin)
    pushes.empty(slot)
  }

  /// The bytes of two pushes, neither of which has a stream, change places.
  func exchange(_ slot: UInt32, _ other: UInt32) { pushes.exchange(slot, other) }

  /// What failed a push that is sent again later.
  private func failure(_ response: GatewayResponse?, of slot: UInt32) -> String {
    guard let response else { return "no answer" }
    return response.isForeign ? "foreign answer" : answer(response, to: slot).reasonText
  }

  private func writeRetry(
    _ push: UnsafeMutablePointer<Push>, _ tier: RetryTier, _ reason: UnsafeRawBufferPointer,
    _ state: PushState, _ name: TopicPartition, reserved: Int64? = nil
  ) {
    let wasSent = state.life.sends > 0
    let envelope = push.pointee.envelope
    // For one that was not sent here the time says since when it waits for this reason.
    let isSameReason = push.pointee.field(envelope.lastReason).elementsEqual(reason)
    let since = isSameReason || wasSent ? envelope.firstSeen : nil
    var value = ByteBuffer(capacity: Int(push.pointee.valueCount) + 64)
    EnvelopeEncoder.encodeRetry(
      of: push.pointee.value, envelope,
      attempt: UInt16(clamping: state.life.countedAttempts),
      firstSeen: reserved ?? since ?? (wasSent ? state.sentAt : wall), reason: reason,
      position: state.state.moving(to: tier, from: name.partition), into: &value)
    publisher.writeRetry(
      tier, key: Array(push.pointee.token), value: Array(value.bytes), state.origin)
  }

  /// Ends a push that cannot be delivered.
  ///
  /// - Parameter name: of the partition that it came from.
  func deadLetter(
    _ slot: UInt32, _ reason: DeadLetterReason, _ cause: ReceiptCause, _ answer: GatewayResponse?,
    _ state: PushState, from name: TopicPartition
  ) {
    let push = pushes[slot]
    let end = end(slot, .deadLettered, cause, answer, state.life.attempts)
    let detail = cause.detail(after: end.answer?.response.status, end.answer?.reasonText ?? "")
    record(slot, .deadLettered, app: state.app)
    var letter = letter(reason, detail, attempts: end.attempts, state.origin, name)
    letter.apnsID = text(push.pointee.field(push.pointee.envelope.idText))
    let traceParent = push.pointee.carried[.traceParent]
    if !traceParent.isEmpty { letter.traceParent = text(traceParent) }
    publisher.writeDeadLetter(
      key: Array(push.pointee.token), value: Array(push.pointee.value),
      headers: letter.kafkaHeaders, state.origin, receipt: push.receipt(end))
    pushes.empty(slot)
  }

  /// Drops a push unsent.
  func drop(_ slot: UInt32) { pushes.empty(slot) }

  /// Ends a record that is not a notification at all: no receipt, for there is no id to write one for.
  ///
  /// Anyone may have written it, with a larger value than our producer takes: such a one is cut, or the
  /// record would stay open for ever.
  func deadLetter(
    _ record: KafkaRecord, _ origin: Origin, detail: String, from name: TopicPartition
  ) {
    let cut = DeadLetterCut(key: record.key.count, value: record.value.count)
    var letter = letter(.invalidEnvelope, detail, attempts: 0, origin, name)
    letter.note(cut)
    publisher.writeDeadLetter(
      key: Array(record.key.prefix(cut.key)), value: Array(record.value.prefix(cut.value)),
      headers: letter.kafkaHeaders, origin)
  }

  private func letter(
    _ reason: DeadLetterReason, _ detail: String, attempts: Int, _ origin: Origin,
    _ name: TopicPartition
  ) -> DeadLetter {
    DeadLetter(
      reason, detail, by: .sender, attempts: attempts,
      from: DeadLetterOrigin(
        topic: name.topic, partition: name.partition, offset: origin.offset), at: wall)
  }

  private func text(_ bytes: UnsafeRawBufferPointer) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
