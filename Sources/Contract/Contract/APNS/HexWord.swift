// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits as text, eight at a time: an id has 32, a device token 64 or more, and handling each digit by
/// itself takes three times as long.
public enum HexWord {
  @inlinable static var ones: UInt64 { 0x0101_0101_0101_0101 }
  @inlinable static var highBits: UInt64 { 0x8080_8080_8080_8080 }

  /// The 32 bits of eight digits in either case; undefined if `invalid` is not 0 afterwards.
  ///
  /// - Parameters:
  ///   - text: the digits, the first one in the highest byte.
  ///   - invalid: gets bits set if a byte is not a digit.
  @inline(__always)
  static func value(_ text: UInt64, _ invalid: inout UInt64) -> UInt64 {
    let letters = letters(text)
    let digits = digits(text, letters, &invalid)
    var value = digits &+ letters &* 10
    value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    return (value | value >> 16) & 0xFFFF_FFFF
  }

  /// Eight digits in lower case, in the given order; undefined if `invalid` is not 0 afterwards.
  ///
  /// - Parameter invalid: gets bits set if a byte is not a digit.
  @inlinable @inline(__always)
  public static func lowercase(_ text: UInt64, _ invalid: inout UInt64) -> UInt64 {
    let letters = letters(text)
    _ = digits(text, letters, &invalid)
    return text | letters << 5
  }

  /// The eight lower-case digits of the low 32 bits, the first one in the highest byte.
  @inlinable @inline(__always)
  public static func text(_ value: UInt64) -> UInt64 {
    var digits = value & 0xFFFF_FFFF
    digits = (digits | digits << 16) & 0x0000_FFFF_0000_FFFF
    digits = (digits | digits << 8) & 0x00FF_00FF_00FF_00FF
    digits = (digits | digits << 4) & 0x0F0F_0F0F_0F0F_0F0F
    let letters = (digits &+ ones &* 6) >> 4 & ones
    return digits &+ ones &* 0x30 &+ letters &* 0x27
  }

  /// 1 in the byte of each letter.
  @inlinable @inline(__always)
  static func letters(_ text: UInt64) -> UInt64 { (text & (ones &* 0x40)) >> 6 }

  /// Each byte minus the first digit of its kind, '0' or 'a'.
  @inlinable @inline(__always)
  static func digits(_ text: UInt64, _ letters: UInt64, _ invalid: inout UInt64) -> UInt64 {
    let folded = text | letters << 5
    // A byte below the first digit loses the high bit lent to it; no byte borrows from another.
    let lent = (folded | highBits) &- (ones &* 0x30 &+ letters &* 0x31)
    let digits = lent & ~highBits
    // A byte above '9' or 'f' sets its high bit.
    let above = digits &+ ones &* 0x76 &+ letters &* 4
    invalid |= (text | ~lent | above) & highBits
    return digits
  }
}
