// SPDX-License-Identifier: Apache-2.0

/// Tells whether bytes are one JSON object (RFC 8259) in UTF-8, without building anything: fast enough
/// for every push.
package struct JSONScan {
  private var at = 0
  private var depth = 0

  private static let depthLimit = 256

  /// Whether all of `bytes` is one object and nothing else but blanks.
  package static func isObject(_ bytes: Span<UInt8>) -> Bool {
    var scan = JSONScan()
    scan.skipBlanks(bytes)
    guard scan.peek(bytes) == UInt8(ascii: "{"), scan.value(bytes) else { return false }
    scan.skipBlanks(bytes)
    return scan.at == bytes.count
  }

  private func peek(_ bytes: Span<UInt8>) -> UInt8 { at < bytes.count ? bytes[at] : 0 }

  private mutating func skipBlanks(_ bytes: Span<UInt8>) {
    while at < bytes.count, Self.isBlank(bytes[at]) { at += 1 }
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
  }

  private mutating func take(_ byte: UInt8, _ bytes: Span<UInt8>) -> Bool {
    guard peek(bytes) == byte, at < bytes.count else { return false }
    at += 1
    return true
  }

  private mutating func value(_ bytes: Span<UInt8>) -> Bool {
    switch peek(bytes) {
    case UInt8(ascii: "{"): return container(UInt8(ascii: "}"), isObject: true, bytes)
    case UInt8(ascii: "["): return container(UInt8(ascii: "]"), isObject: false, bytes)
    case UInt8(ascii: "\""): return string(bytes)
    case UInt8(ascii: "t"): return word("true", bytes)
    case UInt8(ascii: "f"): return word("false", bytes)
    case UInt8(ascii: "n"): return word("null", bytes)
    default: return number(bytes)
    }
  }

  private mutating func container(
    _ end: UInt8, isObject: Bool, _ bytes: Span<UInt8>
  ) -> Bool {
    at += 1
    depth += 1
    guard depth <= Self.depthLimit else { return false }
    skipBlanks(bytes)
    if take(end, bytes) {
      depth -= 1
      return true
    }
    while true {
      skipBlanks(bytes)
      if isObject {
        guard string(bytes) else { return false }
        skipBlanks(bytes)
        guard take(UInt8(ascii: ":"), bytes) else { return false }
        skipBlanks(bytes)
      }
      guard value(bytes) else { return false }
      skipBlanks(bytes)
      if take(end, bytes) {
        depth -= 1
        return true
      }
      guard take(UInt8(ascii: ","), bytes) else { return false }
    }
  }

  private mutating func word(_ text: String, _ bytes: Span<UInt8>) -> Bool {
    let count = text.utf8.count
    guard at + count <= bytes.count else { return false }
    for (offset, byte) in text.utf8.enumerated() where bytes[at + offset] != byte {
      return false
    }
    at += count
    return true
  }

  private mutating func digits(_ bytes: Span<UInt8>) -> Bool {
    let start = at
    while (0x30...0x39).contains(peek(bytes)) { at += 1 }
    return at > start
  }

  private mutating func number(_ bytes: Span<UInt8>) -> Bool {
    _ = take(UInt8(ascii: "-"), bytes)
    if !take(UInt8(ascii: "0"), bytes) { guard digits(bytes) else { return false } }
    if take(UInt8(ascii: "."), bytes) { guard digits(bytes) else { return false } }
    if peek(bytes) | 0x20 == UInt8(ascii: "e") {
      at += 1
      if !take(UInt8(ascii: "+"), bytes) { _ = take(UInt8(ascii: "-"), bytes) }
      guard digits(bytes) else { return false }
    }
    return true
  }

  private mutating func string(_ bytes: Span<UInt8>) -> Bool {
    guard take(UInt8(ascii: "\""), bytes) else { return false }
    while at < bytes.count {
      let byte = bytes[at]
      switch byte {
      case UInt8(ascii: "\""):
        at += 1
        return true
      case UInt8(ascii: "\\"): guard escape(bytes) else { return false }
      case ..<0x20: return false
      case ..<0x80: at += 1
      default: guard multibyte(byte, bytes) else { return false }
      }
    }
    return false
  }

  private mutating func escape(_ bytes: Span<UInt8>) -> Bool {
    at += 1
    switch peek(bytes) {
    case UInt8(ascii: "u"):
      at += 1
      for _ in 0..<4 {
        let digit = peek(bytes) | 0x20
        guard (0x30...0x39).contains(peek(bytes)) || (0x61...0x66).contains(digit) else {
          return false
        }
        at += 1
      }
      return true
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      at += 1
      return true
    default: return false
    }
  }

  /// A UTF-8 sequence of two to four bytes (RFC 3629 §4).
  private mutating func multibyte(_ first: UInt8, _ bytes: Span<UInt8>) -> Bool {
    let size: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: size = 2
    case 0xE0:
      size = 3
      second = 0xA0...0xBF
    case 0xED:
      size = 3
      second = 0x80...0x9F
    case 0xE1...0xEF: size = 3
    case 0xF0:
      size = 4
      second = 0x90...0xBF
    case 0xF1...0xF3: size = 4
    case 0xF4:
      size = 4
      second = 0x80...0x8F
    default: return false
    }
    guard at + size <= bytes.count, second.contains(bytes[at + 1]) else { return false }
    for offset in 2..<max(size, 2) where !(0x80...0xBF).contains(bytes[at + offset]) {
      return false
    }
    at += size
    return true
  }
}
