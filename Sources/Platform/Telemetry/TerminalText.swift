// SPDX-License-Identifier: Apache-2.0

/// Text that others wrote, made fit for a person's terminal: it may neither steer it nor stand there in another
/// order than it has (Unicode's UAX #9; Trojan Source, CVE-2021-42574).
public enum TerminalText {
  /// True if a character must not reach a terminal: controls (U+0000…U+001F, U+007F…U+009F), line and paragraph
  /// separators, marks that change the direction of text, and the invisible U+FEFF.
  public static func isHarmful(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x00...0x1F, 0x7F...0x9F, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069,
      0xFEFF:
      true
    default: false
    }
  }

  /// The text with U+FFFD in place of every such character.
  public static func plain(_ text: String) -> String {
    var line = ""
    for scalar in text.unicodeScalars {
      line.unicodeScalars.append(isHarmful(scalar.value) ? "\u{FFFD}" : scalar)
    }
    return line
  }

  /// JSON text with every such character written as its escape, which says the same.
  public static func json(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isHarmful($0.value) }) else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      if isHarmful(scalar.value) {
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      } else {
        line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}
