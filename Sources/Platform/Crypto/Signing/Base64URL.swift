// SPDX-License-Identifier: Apache-2.0

/// Base64 with the alphabet of RFC 4648 §5 and without padding, as JSON Web Tokens use it.
public enum Base64URL {
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  public static func encode(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
      bits <<= UInt32(8 * (3 - group.count))
      for place in 0...group.count { text.append(alphabet[Int(bits >> (18 - 6 * place)) & 63]) }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// - Parameter isLenient: Also takes `+`, `/` and padding, which APNs accepts today.
  /// - Returns: nil for any other character, an impossible length, or bits that must be zero.
  public static func decode(_ text: some Collection<UInt8>, isLenient: Bool = false) -> [UInt8]? {
    var bytes: [UInt8] = []
    var (bits, count, padding) = (UInt32(0), 0, 0)
    for character in text {
      if isLenient, character == UInt8(ascii: "=") {
        padding += 1
        continue
      }
      guard padding == 0, let value = value(of: character, isLenient) else { return nil }
      bits = bits << 6 | value
      count += 1
      if count % 4 != 1 { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(leftover(count)))) }
    }
    guard count % 4 != 1, padding <= 2 else { return nil }
    return bits & ((1 << UInt32(leftover(count))) - 1) == 0 ? bytes : nil
  }

  /// Bits of the current group that no whole byte holds yet.
  private static func leftover(_ count: Int) -> Int { count * 6 % 8 }

  private static func value(of character: UInt8, _ isLenient: Bool) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    case UInt8(ascii: "+") where isLenient: 62
    case UInt8(ascii: "/") where isLenient: 63
    default: nil
    }
  }
}
