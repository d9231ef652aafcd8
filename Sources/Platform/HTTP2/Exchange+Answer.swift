// SPDX-License-Identifier: Apache-2.0
import HTTP

extension Exchange {
  /// Keeps what an answer's header fields say. An id that is the one that was sent is not kept.
  @inline(__always)
  mutating func take(_ head: borrowing AnswerHead) {
    status = head.status
    if head.hasID, !noteID(isSent: isSent(head.id)) {
      otherID = head.id
      hasOtherID = true
    }
    guard head.hasMore else { return }
    if head.hasRequestID, !noteID(isSent: isSent(head.requestID)) {
      otherRequestID = head.requestID
      hasOtherRequestID = true
    }
    if head.hasUniqueID {
      uniqueID = head.uniqueID
      hasUniqueID = true
    }
    retryAfter = head.retryAfter
    if head.hasDate, let date {
      for index in 0..<29 { date[index] = head.date[index] }
      hasDate = true
    }
  }

  /// Keeps a part of the answer's body as far as there is room.
  mutating func append(_ part: Span<UInt8>) {
    responseTotal &+= UInt32(truncatingIfNeeded: part.count)
    let kept = Int(responseCount)
    let taken = min(part.count, Int(responseCapacity) - kept)
    guard taken > 0, let response else { return }
    for index in 0..<taken { response[kept + index] = part[index] }
    responseCount = UInt16(kept + taken)
  }

  /// True if an id is the one that was sent; the case of its letters does not matter.
  @inline(__always)
  private func isSent(_ id: InlineArray<36, UInt8>) -> Bool {
    guard let sentID else { return false }
    // Digits and hyphens have the bit that makes letters small.
    for index in 0..<36 where id[index] | 0x20 != sentID[index] | 0x20 { return false }
    return true
  }
}
