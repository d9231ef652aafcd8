// SPDX-License-Identifier: Apache-2.0
import Bytes

/// Shortens the device tokens that JSON text names as such, whatever they look like, and copies everything else
/// as it stands.
enum TokenFields {
  /// True if `append` can tell strings from what is between them: JSON text without any escape.
  static func isPlain(_ json: UnsafeRawBufferPointer) -> Bool {
    !json.contains(UInt8(ascii: "\\"))
  }

  /// Appends plain JSON text with the strings behind `token` and `tokens` of its top level shortened to eight
  /// characters. Text that is no JSON is copied, too.
  static func append(_ json: UnsafeRawBufferPointer, to output: inout ByteBuffer) {
    var (index, copied, depth) = (0, 0, 0)
    var isToken = false
    while index < json.count {
      switch json[index] {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: ",") where depth == 1: isToken = false
      case UInt8(ascii: "\""):
        let start = index + 1
        index = start
        while index < json.count, json[index] != UInt8(ascii: "\"") { index += 1 }
        let text = UnsafeRawBufferPointer(rebasing: json[start..<index])
        if isToken {
          let shown = shownBytes(text)
          if shown < text.count {
            output.append(UnsafeRawBufferPointer(rebasing: json[copied..<start + shown]))
            output.append("…")
            copied = index
          }
        } else if depth == 1 {
          isToken = isTokenName(text) && isKey(json, before: index + 1)
        }
      default: break
      }
      index += 1
    }
    output.append(UnsafeRawBufferPointer(rebasing: json[copied...]))
  }

  private static func isTokenName(_ text: UnsafeRawBufferPointer) -> Bool {
    (text.count == 5 || text.count == 6)
      && (text.elementsEqual("token".utf8) || text.elementsEqual("tokens".utf8))
  }

  /// True if a colon follows.
  private static func isKey(_ json: UnsafeRawBufferPointer, before place: Int) -> Bool {
    var index = place
    while index < json.count, json[index] <= 0x20 { index += 1 }
    return index < json.count && json[index] == UInt8(ascii: ":")
  }

  /// The bytes of the first eight characters.
  private static func shownBytes(_ text: UnsafeRawBufferPointer) -> Int {
    var characters = 0
    for index in 0..<text.count where text[index] & 0xC0 != 0x80 {
      if characters == 8 { return index }
      characters += 1
    }
    return text.count
  }
}
