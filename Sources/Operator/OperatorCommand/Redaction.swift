// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import Telemetry

/// Removes secrets from text for people, byte by byte, because a topic may have millions of records.
enum Redaction {
  /// The shortest run of hex digits treated as a device token; an apns-id has shorter ones.
  private static let shortestToken = 32
  /// The minimum number of bytes after `eyJ` (`{"` in base64url) in a provider token.
  private static let shortestProviderToken = 40

  /// The first eight digits of a device token.
  static func shortened(_ token: String) -> String {
    token.count > 8 ? token.prefix(8) + "…" : token
  }

  /// Returns the text with every provider token (`eyJ….….…`) hidden, and every device token shortened if requested.
  static func applied(to text: String, deviceTokens: Bool) -> String {
    var output = ByteBuffer(capacity: text.utf8.count + 16)
    var copy = text
    copy.withUTF8 {
      append(
        UnsafeRawBufferPointer($0), to: &output, deviceTokens: deviceTokens, forTerminal: false)
    }
    return String(decoding: output.bytes, as: UTF8.self)
  }

  /// The object with the device tokens in its fields shortened.
  static func applied(to object: JSONObject) -> JSONObject {
    var object = object
    object.members = object.members.map { member in
      switch (member.key, member.value) {
      case ("token", .string(let token)): .init(key: member.key, value: .string(shortened(token)))
      case ("tokens", .array(let tokens)):
        .init(
          key: member.key,
          value: .array(tokens.map { $0.string.map { .string(shortened($0)) } ?? $0 }))
      default: member
      }
    }
    return object
  }

  /// The kind of a byte for the walk.
  private enum Kind: UInt8 {
    case other
    /// A base64url character or the dot between a token's parts, but not a hex digit.
    case word
    case hex
    /// A control character, or a byte of a character beyond ASCII.
    case special
  }

  private static let kinds: [UInt8] = (0...255).map { (byte: Int) in
    let kind: Kind =
      switch UInt8(byte) {
      case 0x30...0x39, 0x41...0x46, 0x61...0x66: .hex
      case 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): .word
      case 0x20...0x7E: .other
      default: .special
      }
    return kind.rawValue
  }

  /// Appends the text without its secrets.
  ///
  /// - Parameter forTerminal: Keeps the text on one line and free of control sequences: line ends and tabs become `
  /// `, `\r`, `\t`, and U+FFFD replaces what `TerminalText` filters and broken UTF-8.
  static func append(
    _ text: UnsafeRawBufferPointer, to output: inout ByteBuffer, deviceTokens: Bool,
    forTerminal: Bool
  ) {
    output.reserve(text.count + 64)
    kinds.withUnsafeBufferPointer { kinds in
      var copied = 0
      var index = 0
      while index < text.count {
        let kind = kinds[Int(text[index])]
        if kind == Kind.other.rawValue {
          index += 1
        } else if kind == Kind.special.rawValue {
          let (length, replacement) = special(text, index)
          if forTerminal, let replacement {
            output.append(UnsafeRawBufferPointer(rebasing: text[copied..<index]))
            output.append(replacement)
            copied = index + length
          }
          index += length
        } else {
          let start = index
          var (run, longest) = (0, 0)
          repeat {
            run = kinds[Int(text[index])] == Kind.hex.rawValue ? run + 1 : 0
            longest = max(longest, run)
            index += 1
          } while index < text.count && isWord(kinds[Int(text[index])])
          // Shorter words are never secrets.
          guard index - start >= shortestToken else { continue }
          output.append(UnsafeRawBufferPointer(rebasing: text[copied..<start]))
          let shortens = deviceTokens && longest >= shortestToken
          let isEscape = start > 0 && text[start - 1] == UInt8(ascii: "\\")
          appendWord(
            UnsafeRawBufferPointer(rebasing: text[start..<index]), shortens,
            afterEscape: isEscape && text[start] == UInt8(ascii: "u"), &output)
          copied = index
        }
      }
      output.append(UnsafeRawBufferPointer(rebasing: text[copied...]))
    }
  }

  @inline(__always)
  private static func isWord(_ kind: UInt8) -> Bool {
    kind == Kind.word.rawValue || kind == Kind.hex.rawValue
  }

  /// The length of the character in bytes, and its replacement; `nil` shows the character.
  private static func special(
    _ text: UnsafeRawBufferPointer, _ index: Int
  ) -> (length: Int, replacement: StaticString?) {
    let byte = text[index]
    switch byte {
    case 0x0A: return (1, "\\n")
    case 0x0D: return (1, "\\r")
    case 0x09: return (1, "\\t")
    case ..<0x80: return (1, "\u{FFFD}")
    default: break
    }
    var decoder = UTF8()
    var bytes = UnsafeRawBufferPointer(rebasing: text[index..<min(index + 4, text.count)])
      .makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return (1, "\u{FFFD}") }
    let length = UTF8.width(scalar)
    return (length, TerminalText.isHarmful(scalar.value) ? "\u{FFFD}" : nil)
  }

  /// Appends a word that is long enough to be a secret.
  ///
  /// - Parameter afterEscape: It begins with what follows the backslash of a JSON escape `\u202e`, whose last digit may
  ///   look like the first letter of a provider token. The escape stays whole.
  private static func appendWord(
    _ word: UnsafeRawBufferPointer, _ shortens: Bool, afterEscape: Bool, _ output: inout ByteBuffer
  ) {
    var end = word.count
    for index in 0..<max(0, word.count - shortestProviderToken)
    where word[index] == UInt8(ascii: "e") && word[index + 1] == UInt8(ascii: "y")
      && word[index + 2] == UInt8(ascii: "J")
    {
      end = afterEscape ? max(index, 5) : index
      break
    }
    let rest = UnsafeRawBufferPointer(rebasing: word[..<end])
    if shortens { appendShortened(rest, &output) } else { output.append(rest) }
    if end < word.count { output.append("(provider token)") }
  }

  private static func appendShortened(_ word: UnsafeRawBufferPointer, _ output: inout ByteBuffer) {
    var index = 0
    while index < word.count {
      let start = index
      while index < word.count, kinds[Int(word[index])] == Kind.hex.rawValue { index += 1 }
      if index - start >= shortestToken {
        output.append(UnsafeRawBufferPointer(rebasing: word[start..<start + 8]))
        output.append("…")
      } else {
        output.append(UnsafeRawBufferPointer(rebasing: word[start..<index]))
      }
      if index < word.count {
        output.append(word[index])
        index += 1
      }
    }
  }
}
