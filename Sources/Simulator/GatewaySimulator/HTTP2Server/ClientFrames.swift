// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// A frame's header (RFC 9113 §4.1).
struct FrameHead {
  static let size = 9
  static let data: UInt8 = 0
  static let headers: UInt8 = 1
  static let reset: UInt8 = 3
  static let continuation: UInt8 = 9
  static let endHeaders: UInt8 = 0x4
  static let padded: UInt8 = 0x8
  static let priority: UInt8 = 0x20

  var length: Int
  var type: UInt8
  var flags: UInt8
  var stream: UInt32

  /// - Parameter bytes: nine or more.
  init(_ bytes: UnsafeRawBufferPointer) {
    let word = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
    length = Int(word >> 40)
    type = UInt8(truncatingIfNeeded: word >> 32)
    flags = UInt8(truncatingIfNeeded: word >> 24)
    stream = (UInt32(truncatingIfNeeded: word) << 8 | UInt32(bytes[8])) & 0x7FFF_FFFF
  }

  init(length: Int, type: UInt8, flags: UInt8, stream: UInt32) {
    self.length = length
    self.type = type
    self.flags = flags
    self.stream = stream
  }

  func write(into buffer: inout ByteBuffer) {
    let word = UInt64(length) << 40 | UInt64(type) << 32 | UInt64(flags) << 24 | UInt64(stream >> 8)
    withUnsafeBytes(of: word.bigEndian) { buffer.append($0) }
    buffer.append(UInt8(truncatingIfNeeded: stream))
  }
}

/// Splits a client's input at header blocks: HEADERS and CONTINUATION frames are complete, all else as it arrives.
struct ClientFrames: ~Copyable {
  /// A piece of the input.
  enum Piece {
    /// Other frames, or parts of them.
    case other(UnsafeRawBufferPointer)
    /// A complete frame with its header.
    case block(FrameHead, UnsafeRawBufferPointer)
  }

  /// The largest frame size that was allowed; nghttp2 rejects larger frames.
  static let largest = 16_384
  private static let prefaceSize = 24
  /// The streams of DATA frames received since this was emptied, without those before the client's own reset.
  var dataStreams: [Int32] = []
  /// The number of bytes that pass without inspection: the preface, and payloads of other frames.
  private var passing = prefaceSize
  /// An incomplete frame or frame header.
  private var partial = ByteBuffer(capacity: 0)

  /// Processes the input piece by piece; an incomplete frame waits for the next call.
  mutating func take<Problem: Error>(
    _ bytes: UnsafeRawBufferPointer, _ body: (Piece) throws(Problem) -> Void
  ) throws(Problem) {
    guard !partial.isEmpty else {
      let used = try cut(bytes, body)
      return partial.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
    }
    partial.append(bytes)
    let used = try cut(partial.bytes, body)
    partial.removeFirst(used)
  }

  private mutating func note(_ head: FrameHead) {
    let stream = Int32(bitPattern: head.stream)
    if head.type == FrameHead.data { dataStreams.append(stream) }
    if head.type == FrameHead.reset, !dataStreams.isEmpty { dataStreams.removeAll { $0 == stream } }
  }

  /// Splits the bytes into pieces; returns the number of bytes consumed.
  private mutating func cut<Problem: Error>(
    _ bytes: UnsafeRawBufferPointer, _ body: (Piece) throws(Problem) -> Void
  ) throws(Problem) -> Int {
    var start = 0
    var place = 0
    while true {
      let passed = min(passing, bytes.count - place)
      place += passed
      passing -= passed
      guard bytes.count - place >= FrameHead.size else { break }
      let head = FrameHead(UnsafeRawBufferPointer(rebasing: bytes[place...]))
      guard head.type == FrameHead.headers || head.type == FrameHead.continuation,
        head.length <= Self.largest
      else {
        note(head)
        place += FrameHead.size
        passing = head.length
        continue
      }
      let end = place + FrameHead.size + head.length
      guard end <= bytes.count else { break }
      if start < place { try body(.other(UnsafeRawBufferPointer(rebasing: bytes[start..<place]))) }
      try body(.block(head, UnsafeRawBufferPointer(rebasing: bytes[place..<end])))
      place = end
      start = end
    }
    if start < place { try body(.other(UnsafeRawBufferPointer(rebasing: bytes[start..<place]))) }
    return place
  }
}
