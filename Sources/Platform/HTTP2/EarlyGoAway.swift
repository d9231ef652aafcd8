// SPDX-License-Identifier: Apache-2.0

/// Catches a GOAWAY that a server sends instead of its SETTINGS, with which it says why it refuses
/// the connection. nghttp2 only reports that SETTINGS were expected and loses the reason.
struct EarlyGoAway {
  enum Finding {
    /// The first frame is not complete; more bytes are needed.
    case undecided
    /// The first frame is something else: these bytes are for the session.
    case none([UInt8])
    case goAway(lastStreamID: Int32, code: UInt32, debug: [UInt8])
  }

  private var bytes: [UInt8] = []
  private static let headerSize = 9
  private static let goAwayType: UInt8 = 7

  /// Takes the connection's first bytes (RFC 9113 §4.1, §6.8).
  mutating func receive(_ arrived: UnsafeRawBufferPointer) -> Finding {
    bytes += arrived
    guard bytes.count > 3 else { return .undecided }
    guard bytes[3] == Self.goAwayType else { return .none(bytes) }
    let count = Int(bytes[0]) << 16 | Int(bytes[1]) << 8 | Int(bytes[2])
    guard count >= 8, count <= 16_384 else { return .none(bytes) }
    let end = Self.headerSize + count
    guard bytes.count >= end else { return .undecided }
    return .goAway(
      lastStreamID: Int32(bitPattern: number(at: 9) & 0x7FFF_FFFF), code: number(at: 13),
      debug: Array(bytes[17..<end].prefix(256)))
  }

  private func number(at start: Int) -> UInt32 {
    bytes[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
  }
}
