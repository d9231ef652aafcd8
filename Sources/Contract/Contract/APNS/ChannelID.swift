// SPDX-License-Identifier: Apache-2.0

/// The rules of a broadcast channel's id: base64 text created by APNs (RFC 4648 §4), case-sensitive, of undocumented
/// size.
public enum ChannelID {
  /// The most characters accepted.
  public static let maximumLength = 512

  /// The fault in a channel id.
  public enum Problem: Error, Equatable, Sendable, CustomStringConvertible {
    case empty
    case tooLong(Int)
    /// The position of the first byte that is not a base64 character.
    case notBase64(at: Int)
    /// A number of characters that no base64 text has.
    case incomplete(Int)

    public var description: String {
      switch self {
      case .empty: "is empty"
      case .tooLong(let count): "has \(count) characters, more than \(ChannelID.maximumLength)"
      case .notBase64(let position): "has no base64 character at character \(position + 1)"
      case .incomplete(let count): "has \(count) characters, which no base64 text has"
      }
    }
  }

  /// Checks a channel id: 2…512 characters of base64, padded with `=` to a multiple of four.
  public static func validate(_ text: Span<UInt8>) throws(Problem) {
    guard text.count > 0 else { throw .empty }
    guard text.count <= maximumLength else { throw .tooLong(text.count) }
    var end = text.count
    while end > 0 && text.count - end < 2 && text[end - 1] == UInt8(ascii: "=") { end -= 1 }
    for index in 0..<end where !isCharacter(text[index]) { throw .notBase64(at: index) }
    guard text.count % 4 == 0 else { throw .incomplete(text.count) }
  }

  private static func isCharacter(_ byte: UInt8) -> Bool {
    let letter = (byte | 0x20) &- 0x61
    return letter < 26 || byte &- 0x30 < 10 || byte == UInt8(ascii: "+")
      || byte == UInt8(ascii: "/")
  }
}
