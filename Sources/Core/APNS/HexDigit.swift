// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits as bytes of text.
package enum HexDigit {
  /// The value 0…15 of a digit in either case, or 255 if it is none.
  @inlinable @inline(__always)
  package static func value(_ byte: UInt8) -> UInt8 {
    let decimal = byte &- 0x30
    if decimal < 10 { return decimal }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : 255
  }

  /// The lower-case digit of the low four bits.
  @inlinable @inline(__always)
  package static func character(_ value: UInt8) -> UInt8 {
    let digit = value & 15
    return digit < 10 ? 0x30 + digit : 0x57 + digit
  }
}
