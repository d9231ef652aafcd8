// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTP2
import Records

/// What a push ended in, for its receipt.
struct PushEnd {
  var outcome: Outcome
  /// Why, if no answer decided.
  var cause: ReceiptCause?
  /// The answer, other than 200.
  var answer: GatewayAnswer?
  /// Sends, earlier ones included.
  var attempts: Int
  /// Milliseconds since the epoch.
  var at: Int64
}

extension UnsafeMutablePointer<Push> {
  /// Appends the push's receipt.
  func appendReceipt(_ end: borrowing PushEnd, to lines: inout ByteBuffer) {
    var line = ReceiptLine(end.outcome, at: end.at)
    line.apnsID = pointee.field(pointee.envelope.idText)
    line.escapedID = pointee.field(pointee.envelope.requestID)
    line.app = pointee.field(pointee.envelope.app)
    line.environment = pointee.envelope.environment
    switch pointee.envelope.target {
    case .device: line.token = pointee.token
    case .channel: line.channel = pointee.token
    }
    line.lane = pointee.field(pointee.envelope.laneText)
    line.attempts = UInt16(clamping: end.attempts)
    line.created = pointee.envelope.created
    line.carried = pointee.carried
    if let cause = end.cause {
      line.reason = UnsafeRawBufferPointer(cause.code)
      line.detail = UnsafeRawBufferPointer(cause.detail)
    }
    switch (end.outcome, end.answer == nil) {
    case (.delivered, _), (_, false): appendAnswered(&line, end.answer, end.cause, to: &lines)
    default: ReceiptEncoder.append(line, into: &lines)
    }
  }

  /// The same with what APNs answered; 200 if `answer` is nil.
  private func appendAnswered(
    _ line: inout ReceiptLine, _ answer: GatewayAnswer?, _ cause: ReceiptCause?,
    to lines: inout ByteBuffer
  ) {
    line.retryAfter = pointee.exchange.retryAfter(now: line.at / 1_000)
    pointee.withAnswerIDs { unique, id, request in
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
        let detail = Array(cause.detail(after: answer.response.status, answer.reasonText).utf8)
        return detail.withUnsafeBytes { detail in
          line.detail = detail
          ReceiptEncoder.append(line, into: &lines)
        }
      }
      line.detail = UnsafeRawBufferPointer(answer.response.meaning)
      Array(answer.reasonText.utf8).withUnsafeBytes { reason in
        line.reason = reason
        ReceiptEncoder.append(line, into: &lines)
      }
    }
  }

  /// The receipt as a line of its own, for when it has to wait for a side record.
  func receipt(_ end: borrowing PushEnd) -> [UInt8] {
    var line = ByteBuffer(capacity: 512)
    appendReceipt(end, to: &line)
    return Array(line.bytes)
  }
}
