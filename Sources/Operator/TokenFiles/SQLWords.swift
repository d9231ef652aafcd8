// SPDX-License-Identifier: Apache-2.0

/// Reads words, names and values of one line of SQL.
struct SQLWords {
  private let line: ArraySlice<UInt8>
  private var place: Int

  init(_ line: ArraySlice<UInt8>) {
    self.line = line
    place = line.startIndex
  }

  private var byte: UInt8? { place < line.endIndex ? line[place] : nil }

  private mutating func skipBlanks() {
    while let byte, byte == 0x20 || byte == 9 { place += 1 }
  }

  var isAtEnd: Bool {
    mutating get {
      skipBlanks()
      return byte == nil
    }
  }

  /// True if a quoted name is next.
  var isQuoted: Bool {
    mutating get {
      skipBlanks()
      return byte == UInt8(ascii: "`") || byte == UInt8(ascii: "\"")
    }
  }

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipBlanks()
    guard byte == UInt8(ascii: character) else { return false }
    place += 1
    return true
  }

  /// A run of letters, digits and underscores; nil if something else is next.
  mutating func word() -> String? {
    skipBlanks()
    let start = place
    while let byte, (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x5F { place += 1 }
    return place == start ? nil : String(decoding: line[start..<place], as: UTF8.self)
  }

  /// Passes over these words where they stand, in this order.
  mutating func skip(_ words: [String]) {
    for expected in words {
      let before = place
      if word()?.lowercased() != expected { place = before }
    }
  }

  /// A name in lower case, without its quotes and without the schema before it.
  mutating func name() -> String? {
    var name: String?
    repeat {
      skipBlanks()
      if let quote = byte, quote == UInt8(ascii: "`") || quote == UInt8(ascii: "\"") {
        let start = place + 1
        guard let end = line[start...].firstIndex(of: quote) else { return nil }
        name = String(decoding: line[start..<end], as: UTF8.self).lowercased()
        place = end + 1
      } else {
        name = word()?.lowercased()
      }
      guard name != nil else { return nil }
    } while skip(".")
    return name
  }

  /// Names in parentheses; nil if there is no parenthesis.
  mutating func names() -> [String]? {
    guard skip("(") else { return nil }
    var names: [String] = []
    repeat {
      guard let name = name() else { return nil }
      names.append(name)
    } while skip(",")
    return skip(")") ? names : nil
  }

  /// Values in parentheses; nil if they do not end here.
  mutating func tuple() -> [String?]? {
    guard skip("(") else { return nil }
    var values: [String?] = []
    repeat {
      guard let value = value() else { return nil }
      values.append(value)
    } while skip(",")
    return skip(")") ? values : nil
  }

  /// A number, a word such as `NULL` or `true`, or a text in quotes; `.some(nil)` is NULL.
  private mutating func value() -> String?? {
    skipBlanks()
    if byte == UInt8(ascii: "'") { return text() }
    let start = place
    while let byte, byte != UInt8(ascii: ","), byte != UInt8(ascii: ")"), byte != UInt8(ascii: "'")
    {
      place += 1
    }
    // As in _binary 'x' and E'x'.
    if byte == UInt8(ascii: "'") { return text() }
    var word = line[start..<place]
    while word.last == 0x20 { word.removeLast() }
    guard !word.isEmpty else { return nil }
    let text = String(decoding: word, as: UTF8.self)
    return text.uppercased() == "NULL" ? .some(nil) : text
  }

  private mutating func text() -> String?? {
    place += 1
    var bytes: [UInt8] = []
    while let byte {
      place += 1
      if byte == UInt8(ascii: "\\") {
        guard let next = self.byte else { return nil }
        place += 1
        bytes.append(Self.unescaped(next))
      } else if byte != UInt8(ascii: "'") {
        bytes.append(byte)
      } else if self.byte == UInt8(ascii: "'") {
        place += 1
        bytes.append(byte)
      } else {
        return String(decoding: bytes, as: UTF8.self)
      }
    }
    return nil
  }

  private static func unescaped(_ byte: UInt8) -> UInt8 {
    switch byte {
    case UInt8(ascii: "n"): 10
    case UInt8(ascii: "t"): 9
    case UInt8(ascii: "r"): 13
    case UInt8(ascii: "0"): 0
    default: byte
    }
  }
}
