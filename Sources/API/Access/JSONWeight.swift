// SPDX-License-Identifier: Apache-2.0

/// A limit on the number of values in a JSON text, checked without parsing: a text of a few bytes per value needs many
/// times its size in memory, and takes long to process.
public enum JSONWeight {
  /// The number of values that any text may have.
  static let free = 50_000
  /// The number of bytes for each further value: a device token has 64.
  static let bytesPerValue = 32

  /// True if the text has few enough values for its length. Commas in strings count: no message has that many.
  public static func isBearable(_ text: Span<UInt8>) -> Bool {
    var left = free + text.count / bytesPerValue
    for index in 0..<text.count where opensValue(text[index]) {
      left -= 1
      if left < 0 { return false }
    }
    return true
  }

  private static func opensValue(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "{")
  }
}
