// SPDX-License-Identifier: Apache-2.0

/// Cuts the peer's bytes into frames, wherever they are split.
///
/// A frame that arrives whole is read where it is; only one that is split is kept here meanwhile.
struct FrameReader {
  /// The place of the next frame's payload.
  enum Next {
    /// More bytes are needed.
    case none
    /// In the input.
    case inPlace(FrameHeader, Range<Int>)
    /// Behind the header in `partial`, which the reader's owner takes.
    case partial(FrameHeader)
  }

  /// The largest payload that we accept (our SETTINGS_MAX_FRAME_SIZE).
  let limit: Int
  /// The beginning of a frame whose end has not arrived.
  var partial: [UInt8] = []

  init(limit: Int) { self.limit = limit }

  /// Finds the next frame in `input` from `position` on, which it moves.
  @inline(__always)
  mutating func next(
    in input: Span<UInt8>, at position: inout Int
  ) throws(ConnectionError) -> Next {
    let left = input.count - position
    guard partial.isEmpty, left >= FrameHeader.count else { return try gather(input, &position) }
    let header = FrameHeader(input, at: position)
    try check(header)
    guard left >= FrameHeader.count + header.length else { return try gather(input, &position) }
    let start = position + FrameHeader.count
    position = start + header.length
    return .inPlace(header, start..<position)
  }

  private mutating func gather(
    _ input: Span<UInt8>, _ position: inout Int
  ) throws(ConnectionError) -> Next {
    consume(upTo: FrameHeader.count, of: input, &position)
    guard partial.count >= FrameHeader.count else { return .none }
    let header = FrameHeader(partial.span, at: 0)
    try check(header)
    consume(upTo: FrameHeader.count + header.length, of: input, &position)
    return partial.count == FrameHeader.count + header.length ? .partial(header) : .none
  }

  private mutating func consume(upTo count: Int, of input: Span<UInt8>, _ position: inout Int) {
    let taken = min(max(0, count - partial.count), input.count - position)
    partial.append(copying: input.extracting(position..<position + taken))
    position += taken
  }

  /// RFC 9113 §4.2.
  @inline(__always)
  private func check(_ header: FrameHeader) throws(ConnectionError) {
    guard header.length <= limit else { throw Self.tooLarge(header) }
  }

  /// Says what is wrong with a frame above the limit. Where one has its length and type, an answer of HTTP/1.1 has the
  /// letters HTTP.
  private static func tooLarge(_ header: FrameHeader) -> ConnectionError {
    if header.length == 0x48_5454, header.type == 0x50 {
      return ConnectionError(.protocolError, "the peer answers in HTTP/1.1")
    }
    return ConnectionError(.frameSizeError, "a frame of \(header.length) bytes")
  }
}
