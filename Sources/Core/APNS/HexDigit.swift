// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits as bytes of text.
package enum HexDigit {
  /// The value 0…15 of a digit in either case, or 255 if it is none.
  @inlinable @inline(__always)
  package static func value(_ byte: UInt8) -> UInt8 {
    // Selects instead of branches: digits are random, so branches on them are guessed wrong every third time.
    let decimal = byte &- 0x30
    let letter = (byte | 0x20) &- 0x61
    let value: UInt8 = letter < 6 ? letter &+ 10 : 255
    return decimal < 10 ? decimal : value
  }

  /// The lower-case digit of the low four bits.
  @inlinable @inline(__always)
  package static func character(_ value: UInt8) -> UInt8 {
    let digit = value & 15
    return digit < 10 ? 0x30 + digit : 0x57 + digit
  }
}
