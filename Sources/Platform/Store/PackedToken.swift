// SPDX-License-Identifier: Apache-2.0
import Contract

/// A device token as the tables have it: its bytes. That is half of its digits, and the rows and indexes that have it are
/// a quarter smaller.
///
/// A key that somebody else wrote may have another text in a token's place. SQLite keeps it as a text among the bytes.
/// PostgreSQL's column has bytes alone: there a token has a byte 1 in front, another text a byte 0.
enum PackedToken {
  /// Writes the bytes that the digits stand for.
  ///
  /// - Parameter bytes: room for half as many as there are digits.
  /// - Returns: false if they are not lower-case hexadecimal digits of at least one byte.
  static func pack(_ digits: Span<UInt8>, into bytes: UnsafeMutablePointer<UInt8>) -> Bool {
    guard digits.count > 0, digits.count % 2 == 0 else { return false }
    let words = digits.count / 8
    let rest = UnsafeMutableRawPointer(bytes)
    var wrong: UInt64 = 0
    digits.bytes.withUnsafeBytes { digits in
      for word in 0..<words {
        let text = UInt64(
          littleEndian: digits.loadUnaligned(fromByteOffset: 8 * word, as: UInt64.self))
        rest.storeBytes(
          of: packed(text, &wrong).littleEndian, toByteOffset: 4 * word, as: UInt32.self)
      }
    }
    for index in 4 * words..<digits.count / 2 {
      let (high, low) = (digits[2 * index], digits[2 * index + 1])
      // Digits and lower-case letters have the bit 0x20.
      wrong |= UInt64(HexDigit.isNone(high) | HexDigit.isNone(low) | (~(high & low) & 0x20))
      bytes[index] = HexDigit.value(high) &<< 4 | HexDigit.value(low)
    }
    return wrong == 0
  }

  /// Four bytes of eight digits, the first one in the lowest byte: each step does it with all eight.
  ///
  /// - Parameter wrong: is not 0 afterwards if they are not lower-case digits.
  @inline(__always)
  private static func packed(_ digits: UInt64, _ wrong: inout UInt64) -> UInt32 {
    let each: UInt64 = 0x0101_0101_0101_0101
    // A letter's low four bits are one less than its value is above nine.
    var value = digits & (each &* 0x0F) &+ (digits &>> 6 & each) &* 9
    let isLetter = (value &+ each &* 6) &>> 4 & each
    wrong |= value & (each &* 0xF0)
    wrong |= digits ^ (value &+ each &* 0x30 &+ isLetter &* 0x27)
    value = (value &<< 4 | value &>> 8) & 0x00FF_00FF_00FF_00FF
    value = (value | value &>> 8) & 0x0000_FFFF_0000_FFFF
    return UInt32(truncatingIfNeeded: value | value &>> 16)
  }

  /// A token, or another text in its place, as PostgreSQL reads and writes a `bytea`.
  static func postgres(_ token: String) -> String {
    let digits = token.utf8
    let isToken =
      !digits.isEmpty && digits.count % 2 == 0
      && digits.allSatisfy { HexDigit.isNone($0) == 0 && ($0 < 0x41 || $0 > 0x46) }
    if isToken { return "\\x01" + token }
    let bytes = Array(digits)
    return "\\x00" + bytes.withUnsafeBufferPointer { Self.digits($0) }
  }

  /// What `postgres` has made of a token; empty for what it cannot have made.
  static func token(postgres text: String) -> String {
    if text.hasPrefix("\\x01") { return String(text.dropFirst(4)) }
    guard text.hasPrefix("\\x00") else { return "" }
    let digits = Array(text.utf8.dropFirst(4))
    let bytes = stride(from: 0, to: digits.count - 1, by: 2).map {
      HexDigit.value(digits[$0]) &<< 4 | HexDigit.value(digits[$0 + 1])
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  static func digits(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
    String(unsafeUninitializedCapacity: 2 * bytes.count) { digits in
      for (index, byte) in bytes.enumerated() {
        digits[2 * index] = HexDigit.character(byte &>> 4)
        digits[2 * index + 1] = HexDigit.character(byte)
      }
      return 2 * bytes.count
    }
  }
}
