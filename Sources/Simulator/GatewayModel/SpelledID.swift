// SPDX-License-Identifier: Apache-2.0
public import Contract

/// An `apns-id` in its original spelling: the id and which of its digits are upper-case. The client's id is echoed byte
/// for byte, and reports show the same text.
public struct SpelledID: Sendable, Equatable, CustomStringConvertible {
  public let id: NotificationID
  /// Bit n is set if digit n, from the left, is upper-case.
  private let capitals: UInt32

  /// An id in one case.
  public init(_ id: NotificationID, isUpper: Bool = false) {
    self.id = id
    capitals = isUpper ? .max : 0
  }

  /// Parses 36 characters in canonical form, in any mix of cases; nil for other text.
  public init?(_ text: Span<UInt8>) {
    guard text.count == NotificationID.textLength, let id = NotificationID(text) else { return nil }
    self.id = id
    // Among the characters of an id only upper-case letters have this bit and not the next.
    var odd: UInt8 = 0
    for index in 0..<NotificationID.textLength { odd |= text[index] & ~(text[index] &<< 1) }
    capitals = odd & 0x40 == 0 ? 0 : Self.capitals(of: text)
  }

  private static func capitals(of text: Span<UInt8>) -> UInt32 {
    var capitals: UInt32 = 0
    var digit: UInt32 = 0
    for index in 0..<text.count where text[index] != UInt8(ascii: "-") {
      if text[index] < UInt8(ascii: "a") { capitals |= 1 << digit }
      digit += 1
    }
    return capitals
  }

  /// The id with this text, or nil.
  public init?(_ text: String) { self.init(text.utf8.span) }

  /// The text, 36 characters.
  public var characters: InlineArray<36, UInt8> {
    var characters = id.characters
    var digit: UInt32 = 0
    for index in 0..<NotificationID.textLength where characters[index] != UInt8(ascii: "-") {
      let isLetter = characters[index] >= UInt8(ascii: "a")
      if isLetter, capitals & 1 << digit != 0 { characters[index] &= 0xDF }
      digit += 1
    }
    return characters
  }

  public var description: String { String(decoding: Self.array(characters), as: UTF8.self) }

  private static func array(_ characters: InlineArray<36, UInt8>) -> [UInt8] {
    characters.indices.map { characters[$0] }
  }

  /// Compares the text; bits of digits without a case are ignored.
  public static func == (left: SpelledID, right: SpelledID) -> Bool {
    guard left.id == right.id else { return false }
    return array(left.characters) == array(right.characters)
  }
}
