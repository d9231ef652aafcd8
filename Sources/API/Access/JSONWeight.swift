// SPDX-License-Identifier: Apache-2.0

/// A bound on the values of a JSON text, without reading it: a text of a few bytes per value becomes many times its size
/// in memory, and takes long to look at.
public enum JSONWeight {
  /// Values that any text may have.
  static let free = 50_000
  /// A text may have one more value for so many bytes: a device token has 64.
  static let bytesPerValue = 32

  /// True if the text has few enough values for its length. Those in strings count: no message has so many commas.
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
