// SPDX-License-Identifier: Apache-2.0

extension ClientEngine {
  /// RFC 9113 §6.2.
  mutating func headers(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    let isEnd = header.has(FrameHeader.endStream)
    // Nearly every answer: one frame, neither padded nor with a priority.
    if header.flags & ~FrameHeader.endStream == FrameHeader.endHeaders {
      return try headerBlock(header.stream, payload, isEnd: isEnd)
    }
    var range = try Self.unpadded(header, payload)
    if header.has(FrameHeader.hasPriority) {
      guard range.count >= 5 else {
        throw ConnectionError(.frameSizeError, "HEADERS without room for a priority")
      }
      range = range.lowerBound + 5..<range.upperBound
    }
    let fragment = payload.extracting(range)
    guard !header.has(FrameHeader.endHeaders) else {
      return try headerBlock(header.stream, fragment, isEnd: isEnd)
    }
    _ = try slot(header.stream, "HEADERS")
    block.begin(header.stream, isEnd: isEnd, fragment)
    return nil
  }

  /// RFC 9113 §6.10.
  mutating func continuation(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    guard block.stream != nil else {
      throw ConnectionError(.protocolError, "CONTINUATION without HEADERS")
    }
    try noise.spend("CONTINUATION frames")
    try block.append(payload)
    guard header.has(FrameHeader.endHeaders) else { return nil }
    block.end()
    var bytes: [UInt8] = []
    swap(&bytes, &block.bytes)
    let event = try headerBlock(header.stream, bytes.span, isEnd: block.isEnd)
    swap(&bytes, &block.bytes)
    return event
  }

  @inline(__always)
  private mutating func headerBlock(
    _ id: UInt32, _ bytes: Span<UInt8>, isEnd: Bool
  ) throws(ConnectionError) -> ClientEvent? {
    let slot = try slot(id, "HEADERS")
    let isTrailer = slot.map { streams[$0].hasHead } ?? false
    try decode(bytes, isTrailer: isTrailer)
    guard let slot else {
      // Of a stream that we gave up; its fields had to be read all the same.
      try noise.spend("frames on closed streams")
      return nil
    }
    if isTrailer { return trailer(slot, isEnd: isEnd) }
    guard !head.isMalformed, head.status >= 200, isEnd, head.contentLength <= 0 else {
      return try otherHead(slot, isEnd: isEnd)
    }
    noise.answered()
    let token = streams[slot].token
    finish(slot)
    return .head(token: token, isComplete: true)
  }

  /// An answer's head that more follows, or one that is none.
  private mutating func otherHead(
    _ slot: Int, isEnd: Bool
  ) throws(ConnectionError) -> ClientEvent? {
    let isInterim = (100..<200).contains(head.status) && head.status != 101
    guard !head.isMalformed, head.status >= 200 else {
      if isInterim, !head.isMalformed, !isEnd {
        try noise.spend("interim answers")
        return nil
      }
      return malformedHead(slot)
    }
    guard !isEnd else { return malformedHead(slot) }
    streams[slot].hasHead = true
    streams[slot].status = head.status
    streams[slot].answerLeft = head.contentLength
    return .head(token: streams[slot].token, isComplete: false)
  }

  /// A stream error; a final status that has arrived counts all the same.
  private mutating func malformedHead(_ slot: Int) -> ClientEvent {
    let token = streams[slot].token
    if head.status >= 200 { streams[slot].status = head.status }
    let closed = streamError(slot, .protocolError)
    guard head.status >= 200 else { return .closed(closed) }
    pending.append(closed)
    return .head(token: token, isComplete: false)
  }

  /// RFC 9113 §8.1: trailers end the answer.
  private mutating func trailer(_ slot: Int, isEnd: Bool) -> ClientEvent {
    guard isEnd, !head.isMalformed, streams[slot].answerLeft <= 0 else {
      return .closed(streamError(slot, .protocolError))
    }
    noise.answered()
    let token = streams[slot].token
    finish(slot)
    return .ended(token: token)
  }

  /// An answer is complete. What has not been sent of its request is not wanted any more.
  @inline(__always)
  mutating func finish(_ slot: Int) {
    if streams[slot].bodySent < streams[slot].bodyCount {
      queueReset(streams[slot].id, ErrorCode.cancel.rawValue)
    }
    release(slot)
  }

  @inline(__always)
  private mutating func decode(_ bytes: Span<UInt8>, isTrailer: Bool) throws(ConnectionError) {
    var position = 0
    head.begin()
    decoder.beginBlock()
    do throws(HPACKError) {
      // 0x88 is ":status: 200" (RFC 7541 Appendix A).
      if bytes.count > 0, bytes[0] == 0x88, !isTrailer {
        decoder.passField()
        head.note200()
        position = 1
      }
      while try decoder.next(in: bytes, at: &position) {
        decoder.text.give(to: &head, isTrailer: isTrailer)
      }
    } catch {
      guard error != .listTooLarge else {
        throw ConnectionError(.enhanceYourCalm, "too many header fields")
      }
      throw ConnectionError(.compressionError, "a header block that cannot be read: \(error)")
    }
    if !isTrailer { head.end() }
  }

  /// RFC 9113 §6.1.
  mutating func data(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> ClientEvent? {
    let slot = try slot(header.stream, "DATA")
    let range = try Self.unpadded(header, payload)
    receive(payload.count)
    guard let slot else {
      try noise.spend("frames on closed streams")
      return nil
    }
    let isEnd = header.has(FrameHeader.endStream)
    guard streams[slot].hasHead, isWithinLength(slot, range.count, isEnd: isEnd) else {
      return .closed(streamError(slot, .protocolError))
    }
    if !isEnd { receive(payload.count, on: slot) }
    if range.isEmpty, !isEnd { try noise.spend("empty DATA frames") }
    let token = streams[slot].token
    body.removeAll(keepingCapacity: true)
    body.append(copying: payload.extracting(range))
    guard isEnd else { return range.isEmpty ? nil : .body(token: token) }
    noise.answered()
    finish(slot)
    guard !range.isEmpty else { return .ended(token: token) }
    endedToken = token
    return .body(token: token)
  }

  /// True if a part of a body is as long as `content-length` allows, and the last one as long as it says (RFC 9113
  /// §8.1.1).
  private mutating func isWithinLength(_ slot: Int, _ count: Int, isEnd: Bool) -> Bool {
    let left = streams[slot].answerLeft
    guard left >= 0 else { return true }
    streams[slot].answerLeft = max(0, left - count)
    return isEnd ? count == left : count <= left
  }

  /// The content of a frame without its padding (RFC 9113 §6.1, §6.2).
  private static func unpadded(
    _ header: FrameHeader, _ payload: Span<UInt8>
  ) throws(ConnectionError) -> Range<Int> {
    guard header.has(FrameHeader.padded) else { return 0..<payload.count }
    guard payload.count > 0, Int(payload[0]) < payload.count else {
      throw ConnectionError(.protocolError, "more padding than frame")
    }
    return 1..<payload.count - Int(payload[0])
  }
}
