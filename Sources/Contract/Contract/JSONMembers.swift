// SPDX-License-Identifier: Apache-2.0

/// Edits members of an object in its text and keeps all other bytes: numbers keep their digits, and texts their
/// escapes. Only for well-formed JSON.
public enum JSONMembers {
  /// The range of a member's value; nil if there is no member of this name, spelled without escapes.
  public static func value(of name: String, in json: [UInt8]) -> Range<Int>? {
    var cursor = Cursor(json, at: 0)
    guard cursor.take(UInt8(ascii: "{")) else { return nil }
    let wanted = Array("\"\(name)\"".utf8)
    while let key = cursor.key() {
      let value = cursor.value()
      if json[key.text].elementsEqual(wanted) { return value }
    }
    return nil
  }

  /// The object with edited members.
  ///
  /// - Parameter change: returns the new value of a member; nil removes it.
  static func edited(
    _ json: [UInt8], of place: Range<Int>,
    _ change: (_ name: [UInt8], _ value: Range<Int>) -> [UInt8]?
  ) -> [UInt8] {
    var cursor = Cursor(json, at: place.lowerBound)
    guard cursor.take(UInt8(ascii: "{")) else { return Array(json[place]) }
    var object: [UInt8] = []
    while let key = cursor.key() {
      let value = cursor.value()
      guard let value = change(key.name, value) else { continue }
      object.append(UInt8(ascii: object.isEmpty ? "{" : ","))
      object += json[key.text]
      object.append(UInt8(ascii: ":"))
      object += value
    }
    if object.isEmpty { object.append(UInt8(ascii: "{")) }
    object.append(UInt8(ascii: "}"))
    return object
  }

  /// Walks through valid JSON.
  private struct Cursor {
    private let json: [UInt8]
    private var position: Int

    init(_ json: [UInt8], at position: Int) { (self.json, self.position) = (json, position) }

    private var next: UInt8? { position < json.count ? json[position] : nil }

    private mutating func skipBlanks() {
      while let byte = next, byte <= 0x20 { position += 1 }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      skipBlanks()
      guard next == byte else { return false }
      position += 1
      return true
    }

    /// The next member's key, as text and unescaped; nil at the object's end.
    mutating func key() -> (text: Range<Int>, name: [UInt8])? {
      _ = take(UInt8(ascii: ","))
      skipBlanks()
      guard next == UInt8(ascii: "\"") else { return nil }
      let text = string()
      _ = take(UInt8(ascii: ":"))
      return (text, Self.name(json[text].dropFirst().dropLast()))
    }

    /// The value that starts here.
    mutating func value() -> Range<Int> {
      skipBlanks()
      let start = position
      var depth = 0
      while let byte = next {
        switch byte {
        case UInt8(ascii: "\""): _ = string()
        case UInt8(ascii: "{"), UInt8(ascii: "["):
          depth += 1
          position += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"):
          if depth == 0 { return trimmed(start) }
          depth -= 1
          position += 1
        case UInt8(ascii: ",") where depth == 0: return trimmed(start)
        default: position += 1
        }
      }
      return trimmed(start)
    }

    private func trimmed(_ start: Int) -> Range<Int> {
      var end = position
      while end > start, json[end - 1] <= 0x20 { end -= 1 }
      return start..<end
    }

    private mutating func string() -> Range<Int> {
      let start = position
      position += 1
      while let byte = next, byte != UInt8(ascii: "\"") {
        position += byte == UInt8(ascii: "\\") ? 2 : 1
      }
      position = min(position + 1, json.count)
      return start..<position
    }

    /// The name with its escapes resolved; only those of ASCII matter here.
    private static func name(_ text: ArraySlice<UInt8>) -> [UInt8] {
      guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
      var name: [UInt8] = []
      var rest = text
      while let byte = rest.popFirst() {
        guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
          name.append(byte)
          continue
        }
        guard escaped == UInt8(ascii: "u") else {
          // A letter stands for a control character, which none of the names has that are asked for.
          name.append(escaped < UInt8(ascii: "a") ? escaped : 0)
          continue
        }
        let code = UInt32(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0
        rest = rest.dropFirst(4)
        name.append(code < 0x80 ? UInt8(truncatingIfNeeded: code) : 0xFF)
      }
      return name
    }
  }
}
