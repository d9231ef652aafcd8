// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits as bytes of text.
public enum HexDigit {
  /// The value 0…15 of a digit in either case; 255 for any other byte.
  @inline(__always)
  public static func value(_ byte: UInt8) -> UInt8 {
    // Selects instead of branches: digits are random, so every third branch would be mispredicted.
    let decimal = byte &- 0x30
    let letter = (byte | 0x20) &- 0x61
    let value: UInt8 = letter < 6 ? letter &+ 10 : 255
    return decimal < 10 ? decimal : value
  }

  /// 0 for a digit in either case, 1 for any other byte; branch-free, and cheaper than the value.
  @inline(__always)
  public static func isNone(_ byte: UInt8) -> UInt8 {
    let isDecimal: UInt8 = byte &- 0x30 < 10 ? 1 : 0
    let isLetter: UInt8 = (byte | 0x20) &- 0x61 < 6 ? 1 : 0
    return (isDecimal | isLetter) ^ 1
  }

  /// The lower-case digit of the low four bits.
  @inline(__always)
  public static func character(_ value: UInt8) -> UInt8 {
    let digit = value & 15
    return digit < 10 ? 0x30 + digit : 0x57 + digit
  }
}
