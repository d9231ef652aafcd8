// SPDX-License-Identifier: Apache-2.0

/// The peer's SETTINGS (RFC 9113 §6.5.2).
public struct PeerSettings: Sendable, Equatable {
  public internal(set) var headerTableSize = 4_096
  /// One until the server's SETTINGS arrive, as APNs allows; no limit if they name none.
  public internal(set) var maxConcurrentStreams: UInt32 = 1
  public internal(set) var initialWindowSize = 65_535
  public internal(set) var maxFrameSize = 16_384
  /// The most that a request's fields may count for; nil: the peer has not said. Advisory.
  public internal(set) var maxHeaderListSize: UInt32?

  /// Windows end here (RFC 9113 §6.9.1).
  static let largestWindow = 0x7FFF_FFFF

  public init() {}

  /// Values that a SETTINGS frame may only pass through: each holds until the next one of the same setting (RFC 9113
  /// §6.5.3).
  struct Extremes {
    var leastTableSize: Int?
    var largestWindow: Int?
  }

  /// Takes a SETTINGS frame's entries in their order; unknown ones are ignored.
  mutating func apply(_ payload: Span<UInt8>) throws(ConnectionError) -> Extremes {
    guard payload.count % 6 == 0 else {
      throw ConnectionError(.frameSizeError, "SETTINGS of \(payload.count) bytes")
    }
    var extremes = Extremes()
    for start in stride(from: 0, to: payload.count, by: 6) {
      let id = UInt16(payload[start]) << 8 | UInt16(payload[start + 1])
      try apply(id, payload.bigEndian(at: start + 2))
      if id == 1 {
        extremes.leastTableSize = min(extremes.leastTableSize ?? .max, headerTableSize)
      } else if id == 4 {
        extremes.largestWindow = max(extremes.largestWindow ?? 0, initialWindowSize)
      }
    }
    return extremes
  }

  private mutating func apply(_ id: UInt16, _ value: UInt32) throws(ConnectionError) {
    switch id {
    case 1: headerTableSize = Int(value)
    case 2:
      guard value == 0 else {
        throw ConnectionError(.protocolError, "SETTINGS_ENABLE_PUSH \(value) from a server")
      }
    case 3: maxConcurrentStreams = value
    case 4:
      guard value <= UInt32(Self.largestWindow) else {
        throw ConnectionError(.flowControlError, "SETTINGS_INITIAL_WINDOW_SIZE \(value)")
      }
      initialWindowSize = Int(value)
    case 5:
      guard (16_384...16_777_215).contains(value) else {
        throw ConnectionError(.protocolError, "SETTINGS_MAX_FRAME_SIZE \(value)")
      }
      maxFrameSize = Int(value)
    case 6: maxHeaderListSize = value
    default: break
    }
  }
}

/// The SETTINGS that we announce; the RFC's defaults where nothing else is wanted.
public struct LocalSettings: Sendable {
  /// 0 keeps the peer's answers static once it has acknowledged.
  public var headerTableSize: UInt32 = 0
  public var maxConcurrentStreams: UInt32?
  /// Room for one answer, 65,535 or more.
  public var initialWindowSize: UInt32 = 65_535
  /// Room for all answers, 65,535 or more.
  public var connectionWindow: UInt32 = 65_535
  /// The most that an answer's fields may count for.
  public var maxHeaderListSize: UInt32 = 65_536
  /// Id of the first stream, odd: near 2³¹−1 to see what becomes of it when ids run out.
  public var firstStreamID: UInt32 = 1

  public init() {}

  /// The largest payload of a frame that we accept.
  public static let maxFrameSize = 16_384
  /// The window that a peer may use before it has read our SETTINGS, and of a connection (RFC 9113 §6.9.2).
  static let defaultWindow = 65_535

  /// The connection preface: the magic bytes, SETTINGS, and a window update if the connection's window is larger
  /// than the default (RFC 9113 §3.4).
  var preface: [UInt8] {
    var entries: [(UInt16, UInt32)] = []
    if headerTableSize != 4_096 { entries.append((1, headerTableSize)) }
    entries.append((2, 0))
    if let maxConcurrentStreams { entries.append((3, maxConcurrentStreams)) }
    if initialWindowSize != 65_535 { entries.append((4, initialWindowSize)) }
    entries.append((6, maxHeaderListSize))
    var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    FrameHeader(length: entries.count * 6, type: .settings, flags: 0, stream: 0).append(to: &bytes)
    for (id, value) in entries {
      bytes += [UInt8(id >> 8), UInt8(id & 0xFF)]
      bytes.append(bigEndian: value)
    }
    if connectionWindow > Self.defaultWindow {
      FrameHeader(length: 4, type: .windowUpdate, flags: 0, stream: 0).append(to: &bytes)
      bytes.append(bigEndian: connectionWindow - UInt32(Self.defaultWindow))
    }
    return bytes
  }
}
