// SPDX-License-Identifier: Apache-2.0

/// Hexadecimal digits as bytes of text, eight at a time: an id has 32 of them, and a look at each by itself costs
/// three times as much.
enum HexWord {
  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// The 32 bits that eight digits in either case stand for; of no use if `invalid` is not 0 afterwards.
  ///
  /// - Parameters:
  ///   - text: the digits, the first one in the highest byte.
  ///   - invalid: gets bits set if a byte is no digit.
  @inline(__always)
  static func value(_ text: UInt64, _ invalid: inout UInt64) -> UInt64 {
    // 1 in the place of each letter, which is made a small one.
    let letters = (text & (ones &* 0x40)) >> 6
    let folded = text | letters << 5
    // Less the first digit, '0' or 'a'. A byte below it loses the high bit that it was lent; none borrows from another.
    let lent = (folded | highBits) &- (ones &* 0x30 &+ letters &* 0x31)
    let digits = lent & ~highBits
    // Above '9' or 'f' the high bit comes up.
    let above = digits &+ ones &* 0x76 &+ letters &* 4
    invalid |= (text | ~lent | above) & highBits
    var value = digits &+ letters &* 10
    value = (value | value >> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value >> 8) & 0x0000_FFFF_0000_FFFF
    return (value | value >> 16) & 0xFFFF_FFFF
  }
}
