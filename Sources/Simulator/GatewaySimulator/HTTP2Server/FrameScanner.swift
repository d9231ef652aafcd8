// SPDX-License-Identifier: Apache-2.0
import HTTP2

/// Finds a client's frames in a stream of bytes, and keeps only the first eight bytes of their payloads.
struct FrameScanner {
  /// A complete frame (RFC 9113 §4.1).
  struct Frame: Equatable {
    var type: UInt8 = 0
    var flags: UInt8 = 0
    var stream: Int32 = 0
    var length = 0
    /// The payload's first eight bytes, padded with zeros.
    var head: UInt64 = 0
  }

  static let headerSize = 9
  static let largest = 16_384
  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private var prefaceSeen = 0
  /// The number of received bytes of a frame's header, in `header`, whose last byte is the newest.
  private var headerCount = 0
  private var header: (high: UInt64, low: UInt8) = (0, 0)
  private var frame = Frame()
  /// The bytes of the payload that are still missing, and the number of bytes in `head`.
  private var left = 0
  private var headCount = 0
  private var isInPayload = false

  /// Returns the next complete frame; nil when the bytes are used up.
  ///
  /// - Parameter offset: The position in `bytes`; advanced past what was read.
  mutating func next(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(ConnectionFailure) -> Frame? {
    if prefaceSeen < Self.preface.count { try readPreface(bytes, &offset) }
    if !isInPayload {
      guard try readHeader(bytes, &offset) else { return nil }
    }
    return readPayload(bytes, &offset) ? frame : nil
  }

  private mutating func readPreface(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(ConnectionFailure) {
    while prefaceSeen < Self.preface.count, offset < bytes.count {
      guard bytes[offset] == Self.preface[prefaceSeen] else {
        throw .http2("the client does not begin as HTTP/2 does")
      }
      prefaceSeen += 1
      offset += 1
    }
  }

  private mutating func readHeader(
    _ bytes: UnsafeRawBufferPointer, _ offset: inout Int
  ) throws(ConnectionFailure) -> Bool {
    if headerCount == 0, bytes.count - offset >= Self.headerSize {
      header.high = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self).bigEndian
      header.low = bytes[offset + 8]
      offset += Self.headerSize
    } else {
      while headerCount < Self.headerSize, offset < bytes.count {
        if headerCount < 8 {
          header.high = header.high << 8 | UInt64(bytes[offset])
        } else {
          header.low = bytes[offset]
        }
        headerCount += 1
        offset += 1
      }
      guard headerCount == Self.headerSize else { return false }
    }
    headerCount = 0
    // 24 bits of length, 8 of type, 8 of flags, a reserved bit, 31 of stream id.
    let stream = UInt32(truncatingIfNeeded: header.high) << 8 | UInt32(header.low)
    frame = Frame(
      type: UInt8(truncatingIfNeeded: header.high >> 32),
      flags: UInt8(truncatingIfNeeded: header.high >> 24),
      stream: Int32(bitPattern: stream & 0x7FFF_FFFF), length: Int(header.high >> 40))
    guard frame.length <= Self.largest else { throw .http2("a frame of \(frame.length) bytes") }
    left = frame.length
    headCount = 0
    isInPayload = true
    return true
  }

  /// Reads the payload; returns whether all of it has arrived.
  private mutating func readPayload(_ bytes: UnsafeRawBufferPointer, _ offset: inout Int) -> Bool {
    while headCount < min(8, frame.length), offset < bytes.count {
      frame.head |= UInt64(bytes[offset]) << UInt64(8 * (7 - headCount))
      headCount += 1
      left -= 1
      offset += 1
    }
    let rest = min(left, bytes.count - offset)
    left -= rest
    offset += rest
    isInPayload = left > 0
    return !isInPayload
  }
}
