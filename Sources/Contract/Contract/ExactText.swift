// SPDX-License-Identifier: Apache-2.0

/// Text from outside that identifies something: the id of a request, a user, an app, a group, a tag. Two texts are
/// equal only if all their bytes are.
///
/// `String` compares by canonical equivalence: "é" as U+00E9 and as "e" with U+0301 are one key of a dictionary and one
/// member of a set, although Kafka, SQLite and their authors distinguish them (The Unicode Standard, section 3.7;
/// Swift's `String`). Texts from outside that are keys, members or compared have this type.
public struct ExactText: Hashable, Sendable {
  public let text: String

  public init(_ text: String) { self.text = text }
  public init(_ text: some StringProtocol) { self.text = String(text) }

  public var isEmpty: Bool { text.isEmpty }
  public var utf8: String.UTF8View { text.utf8 }

  public static func == (one: ExactText, other: ExactText) -> Bool {
    haveSameBytes(one.text, other.text)
  }

  public func hash(into hasher: inout Hasher) {
    let bytes = text.utf8.span
    var word: UInt64 = 0
    for index in 0..<bytes.count {
      word = word << 8 | UInt64(bytes[index])
      if index & 7 == 7 { hasher.combine(word) }
    }
    hasher.combine(word)
    hasher.combine(bytes.count)
  }
}

/// True if two texts are the same, byte for byte.
public func haveSameBytes(_ one: String, _ other: String) -> Bool {
  let (first, second) = (one.utf8.span, other.utf8.span)
  guard first.count == second.count else { return false }
  // Without an exit of its own, the loop compares many bytes at a time.
  var difference: UInt8 = 0
  for index in 0..<first.count { difference |= first[index] ^ second[index] }
  return difference == 0
}

/// Ordered by bytes, which is the order of code points, and of a database's `BLOB` or collation `C`.
extension ExactText: Comparable {
  public static func < (one: ExactText, other: ExactText) -> Bool {
    one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
  }
}

extension ExactText: CustomStringConvertible {
  public var description: String { text }
}

extension ExactText: ExpressibleByStringInterpolation {
  public init(stringLiteral text: String) { self.init(text) }
}

extension String {
  /// This text as an identity: compared by its bytes.
  public var exact: ExactText { ExactText(self) }
}

extension StringProtocol {
  /// This text as an identity: compared by its bytes.
  public var exact: ExactText { ExactText(self) }
}
