// SPDX-License-Identifier: Apache-2.0

/// The characters of methods and of names of fields (RFC 9110 §5.6.2).
enum HTTPToken {
  static func isCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
      UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
      UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// The value of a hexadecimal digit.
  static func hexDigit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}

/// `name:port` as in `Host` (RFC 9110 §7.2).
public enum HTTPAuthority {
  static func isValid(_ text: String) -> Bool {
    let (host, port) = split(text)
    guard !host.isEmpty, port.utf8.allSatisfy({ $0 &- 0x30 < 10 }), port.utf8.count <= 5 else {
      return false
    }
    let letters = host.utf8
    if letters.first == UInt8(ascii: "[") {
      return letters.last == UInt8(ascii: "]")
        && letters.dropFirst().dropLast().allSatisfy { isHex($0) || $0 == 0x3A || $0 == 0x2E }
    }
    return letters.allSatisfy { isHex($0) || ($0 | 0x20) &- 0x61 < 26 || "-._~".utf8.contains($0) }
  }

  private static func isHex(_ byte: UInt8) -> Bool {
    byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 6
  }

  /// The host, an IPv6 address with its brackets, and the port, empty without one.
  public static func split(_ text: String) -> (host: Substring, port: Substring) {
    let behind = text.lastIndex(of: "]") ?? text.startIndex
    guard let colon = text[behind...].firstIndex(of: ":") else { return (text[...], "") }
    return (text[..<colon], text[text.index(after: colon)...])
  }
}
