// SPDX-License-Identifier: Apache-2.0

/// Mistakes of hand-written JSON by their usual names: the parser only says where it stopped.
enum JSONMistake {
  /// The first of these mistakes in a text that is not JSON, and its position.
  static func find(in text: UnsafeRawBufferPointer) -> (problem: String, offset: Int)? {
    if text.starts(with: [0xEF, 0xBB, 0xBF]) {
      return ("begins with a byte order mark; save it as UTF-8 without BOM", 0)
    }
    if text.starts(with: [0xFF, 0xFE]) || text.starts(with: [0xFE, 0xFF]) {
      return ("is UTF-16; save it as UTF-8 without BOM", 0)
    }
    var comma: Int?
    var index = 0
    while index < text.count {
      let byte = text[index]
      switch byte {
      case 0x20, 0x09, 0x0A, 0x0D: break
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        if let comma {
          return ("a comma stands before the closing \(Character(UnicodeScalar(byte)))", comma)
        }
      case UInt8(ascii: "\""):
        index = endOfString(text, from: index + 1)
        comma = nil
      case UInt8(ascii: "/"), UInt8(ascii: "#"):
        return ("a comment, which JSON does not have", index)
      case UInt8(ascii: "'"): return ("a single quotation mark; JSON uses \"", index)
      // U+2018 to U+201F.
      case 0xE2
      where index + 2 < text.count && text[index + 1] == 0x80
        && (0x98...0x9F).contains(text[index + 2]):
        return ("a typographic quotation mark; JSON uses \"", index)
      default: comma = byte == UInt8(ascii: ",") ? index : nil
      }
      index += 1
    }
    return nil
  }

  /// The position of the quotation mark that ends a string, or the end of the text.
  private static func endOfString(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
    var index = start
    while index < text.count, text[index] != UInt8(ascii: "\"") {
      index += text[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return index
  }
}
