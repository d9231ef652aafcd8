// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// Checks whether a request's header fields are certainly valid (RFC 9113 §8.2, §8.3). Unusual fields may be valid too:
/// nghttp2 checks them.
struct PlainRequest {
  private var method = false
  private var scheme: UInt8 = 0
  private var path = false
  private var authority = false
  /// Whether a field other than the four has occurred.
  private var isPastPseudo = false
  /// The value of `content-length`, up to nine digits.
  private var declared: (digits: UInt64, count: Int) = (0, 0)

  private static let http: UInt8 = 0x86
  private static let https: UInt8 = 0x87

  /// Whether all four pseudo-header fields were present.
  var isComplete: Bool { method && scheme != 0 && path && authority }

  /// Adds the next field, whose value is ordinary; returns false if it is not certainly valid.
  ///
  /// - Parameter isKnown: Whether the same field was accepted before.
  @inline(__always)
  mutating func takes(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isKnown: Bool
  ) -> Bool {
    guard let first = name.first else { return false }
    if first == UInt8(ascii: ":") { return acceptsPseudo(name, value, isKnown: isKnown) }
    isPastPseudo = true
    return (isKnown || Self.isName(name)) && acceptsRegular(name, value)
  }

  private mutating func acceptsPseudo(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, isKnown: Bool
  ) -> Bool {
    guard !isPastPseudo, !value.isEmpty else { return false }
    switch name.count {
    case 5 where name.isExactly(":path"):
      guard !path, value[0] == UInt8(ascii: "/"), isKnown || Self.hasNoSpace(value) else {
        return false
      }
      path = true
    case 7 where name.isExactly(":method"):
      guard !method, value.isExactly("POST") else { return false }
      method = true
    case 7 where name.isExactly(":scheme"):
      guard scheme == 0 else { return false }
      scheme = value.isExactly("https") ? Self.https : value.isExactly("http") ? Self.http : 0
      return scheme != 0
    case 10 where name.isExactly(":authority"):
      guard !authority, isKnown || value.allSatisfy(Self.isHost) else { return false }
      authority = true
    default: return false
    }
    return true
  }

  /// Checks the few names that HTTP/2 has rules for, which the lengths tell apart.
  private mutating func acceptsRegular(
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer
  ) -> Bool {
    switch name.count {
    case 2: return !name.isExactly("te")
    case 4: return !name.isExactly("host")
    case 7: return !name.isExactly("upgrade")
    case 8: return !name.isExactly("priority")
    case 10: return !name.isExactly("connection") && !name.isExactly("keep-alive")
    case 14 where name.isExactly("content-length"): return acceptsLength(value)
    case 16: return !name.isExactly("proxy-connection")
    case 17: return !name.isExactly("transfer-encoding")
    default: return true
    }
  }

  private mutating func acceptsLength(_ value: UnsafeRawBufferPointer) -> Bool {
    guard declared.count == 0, (1...8).contains(value.count) else { return false }
    for byte in value {
      guard byte &- UInt8(ascii: "0") < 10 else { return false }
      declared.digits = declared.digits << 8 | UInt64(byte)
    }
    declared.count = value.count
    return true
  }

  /// Writes the request for nghttp2: the pseudo-header fields with other valid values, and `content-length`, which it
  /// compares with the body.
  func writeShort(into block: inout ByteBuffer) {
    block.append(Self.post)
    block.append(scheme)
    block.append(Self.root)
    // ":authority: h" as a literal (RFC 7541 §6.2.2).
    block.append(0x01)
    block.append(1)
    block.append(UInt8(ascii: "h"))
    guard declared.count > 0 else { return }
    // Index 28 of the static table: a four-bit prefix and the remainder.
    block.append(0x0F)
    block.append(28 - 15)
    block.append(UInt8(declared.count))
    for place in (0..<declared.count).reversed() {
      block.append(UInt8(truncatingIfNeeded: declared.digits >> UInt64(8 * place)))
    }
  }

  /// `:method: POST` and `:path: /` by their indexes in the static table.
  private static let post: UInt8 = 0x83
  private static let root: UInt8 = 0x84

  // MARK: Characters

  /// Whether the value has only visible ASCII characters and spaces, with no space at either end.
  static func isOrdinary(_ value: UnsafeRawBufferPointer) -> Bool {
    guard let first = value.first, let last = value.last else { return true }
    guard first != UInt8(ascii: " "), last != UInt8(ascii: " ") else { return false }
    let ones: UInt64 = 0x0101_0101_0101_0101
    let high = ones << 7
    var odd: UInt64 = 0
    var place = 0
    while place + 8 <= value.count {
      let word = value.loadUnaligned(fromByteOffset: place, as: UInt64.self)
      // The high bit of a byte is set above 0x7F, below 0x20, and at 0x7F.
      let below = ((word | high) &- ones &* 0x20) ^ high
      let delete = (word & ~high) &+ ones
      odd |= word | below | delete
      place += 8
    }
    var tail = false
    while place < value.count {
      tail = tail || value[place] < 0x20 || value[place] > 0x7E
      place += 1
    }
    return odd & high == 0 && !tail
  }

  private static func isName(_ name: UnsafeRawBufferPointer) -> Bool {
    for byte in name {
      guard byte &- UInt8(ascii: "a") < 26 || byte == UInt8(ascii: "-") || byte &- 0x30 < 10
      else { return false }
    }
    return true
  }

  private static func hasNoSpace(_ value: UnsafeRawBufferPointer) -> Bool {
    !value.contains(UInt8(ascii: " "))
  }

  private static func isHost(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 11
      || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
  }
}

extension UnsafeRawBufferPointer {
  @inline(__always)
  fileprivate func isExactly(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount
      && count > 0 && memcmp(baseAddress.unsafelyUnwrapped, text.utf8Start, count) == 0
  }
}
