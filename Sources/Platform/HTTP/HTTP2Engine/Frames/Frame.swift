// SPDX-License-Identifier: Apache-2.0

/// The kinds of frames (RFC 9113 §6).
public enum FrameType: UInt8, Sendable {
  case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate
  case continuation
}

/// The nine bytes in front of every frame (RFC 9113 §4.1).
public struct FrameHeader: Sendable, Equatable {
  public static let count = 9

  public let length: Int
  /// A type that this client does not know is ignored (§5.5).
  public let type: UInt8
  public let flags: UInt8
  /// 0…2³¹−1; the reserved bit is ignored.
  public let stream: UInt32

  public static let endStream: UInt8 = 0x1
  /// Of SETTINGS and PING.
  public static let ack: UInt8 = 0x1
  public static let endHeaders: UInt8 = 0x4
  public static let padded: UInt8 = 0x8
  public static let hasPriority: UInt8 = 0x20

  public init(length: Int, type: FrameType, flags: UInt8, stream: UInt32) {
    self.length = length
    self.type = type.rawValue
    self.flags = flags
    self.stream = stream
  }

  /// Reads a header from the first nine bytes.
  @inline(__always)
  init(_ bytes: Span<UInt8>, at start: Int) {
    let word = bytes.bigEndian(at: start)
    length = Int(word >> 8)
    type = UInt8(truncatingIfNeeded: word)
    flags = bytes[start + 4]
    stream = bytes.bigEndian(at: start + 5) & 0x7FFF_FFFF
  }

  @inline(__always)
  func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

  @inline(__always)
  public func append(to out: inout OutputSpan<UInt8>) {
    out.append(bigEndian: UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))
    out.append(flags)
    out.append(bigEndian: stream)
  }

  public func append(to bytes: inout [UInt8]) {
    bytes.append(bigEndian: UInt32(truncatingIfNeeded: length) << 8 | UInt32(type))
    bytes.append(flags)
    bytes.append(bigEndian: stream)
  }
}
