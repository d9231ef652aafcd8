// SPDX-License-Identifier: Apache-2.0

/// A character in messages about invalid text: in quotes, or as its number if it has no glyph of its own or would
/// control a terminal.
public enum ShownCharacter {
  /// The character that begins at a byte of UTF-8 text; any other byte is shown in hexadecimal.
  public static func text(_ bytes: Span<UInt8>, at index: Int) -> String {
    let length =
      switch bytes[index] {
      case 0x00...0x7F: 1
      case 0xC2...0xDF: 2
      case 0xE0...0xEF: 3
      case 0xF0...0xF4: 4
      default: 0
      }
    let end = min(index + length, bytes.count)
    var piece: [UInt8] = []
    for place in index..<max(end, index) { piece.append(bytes[place]) }
    guard length > 0, let text = String(validating: piece, as: UTF8.self),
      let scalar = text.unicodeScalars.first
    else { return "the byte 0x" + number(UInt32(bytes[index]), digits: 2) }
    if scalar == " " { return "a blank" }
    guard isVisible(scalar) else { return "U+" + number(scalar.value, digits: 4) }
    return scalar == "\"" ? "'\"'" : "\"\(scalar)\""
  }

  private static func isVisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .spaceSeparator, .lineSeparator, .paragraphSeparator, .privateUse,
      .unassigned, .surrogate, .nonspacingMark, .enclosingMark:
      false
    default: true
    }
  }

  private static func number(_ value: UInt32, digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, digits - text.count)) + text
  }
}
