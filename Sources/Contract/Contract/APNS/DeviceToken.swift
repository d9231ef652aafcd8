// SPDX-License-Identifier: Apache-2.0

/// The rules of a device token's text form. A token is opaque bytes, written as hexadecimal digits, without a fixed
/// length (Apple: "make no assumption about size").
public enum DeviceToken {
  /// The most digits that are accepted: 256 bytes.
  public static let maximumDigits = 512

  /// The number of digits in current tokens: 32 to 128 bytes. Others are accepted and counted.
  public static let usualDigits = 64...256

  /// True if a byte is only decoration: `<`, `>` and blanks of an old `NSData.description`.
  public static func isDecoration(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">")
  }

  /// The text without white space at its ends, as left by line ends of a file or by pasting. Line ends inside are kept,
  /// since they may separate two tokens.
  public static func trimmed(_ text: Span<UInt8>) -> Range<Int> {
    var range = 0..<text.count
    while let last = range.last, isSpace(text[last]) { range = range.lowerBound..<last }
    while let first = range.first, isSpace(text[first]) { range = first + 1..<range.upperBound }
    return range
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }

  /// The fault in a token.
  public enum Problem: Error, Equatable, Sendable, CustomStringConvertible {
    case empty
    case oddLength(Int)
    case tooLong(Int)
    /// The position of the first byte that is not a hexadecimal digit, and what the text seems to be instead.
    case notHexadecimal(at: Int, TokenLookalike? = nil)
    /// A JSON value that is not a string.
    case notText

    public var description: String {
      switch self {
      case .empty: "is empty"
      case .oddLength(let count): "has an odd number of digits (\(count))"
      case .tooLong(let count): "has \(count) digits, more than \(DeviceToken.maximumDigits)"
      case .notText: "is not a string"
      case .notHexadecimal(let position, let lookalike):
        "has no hexadecimal digit at character \(position + 1)"
          + (lookalike.map { "; \($0.words)" } ?? "")
      }
    }
  }

  /// Checks a token: an even number of hexadecimal digits, 2…512, in either case.
  public static func validate(_ text: Span<UInt8>) throws(Problem) {
    try validateLength(text.count)
    var invalid: UInt8 = 0
    for index in text.indices { invalid |= HexDigit.isNone(text[index]) }
    if invalid == 0 { return }
    for index in 0..<text.count where HexDigit.value(text[index]) > 15 {
      throw .notHexadecimal(at: index, TokenLookalike(text))
    }
  }

  /// A given token in lower case, without white space at its ends and the decoration of an old `NSData.description`.
  public static func normalized(_ text: String) throws(Problem) -> String {
    var digits: [UInt8] = []
    try append(text.utf8.span, to: &digits)
    return String(decoding: digits, as: UTF8.self)
  }

  /// Appends a token in the form of `normalized`; nothing if it is invalid.
  public static func append(_ text: Span<UInt8>, to digits: inout [UInt8]) throws(Problem) {
    var count = 0
    var problem: Problem?
    for index in trimmed(text) {
      let byte = text[index]
      if isDecoration(byte) { continue }
      guard HexDigit.value(byte) <= 15 else {
        problem = .notHexadecimal(at: index, TokenLookalike(text))
        break
      }
      // The bit that makes letters lower case; it is already set in digits.
      digits.append(byte | 0x20)
      count += 1
    }
    do throws(Problem) {
      if let problem { throw problem }
      try validateLength(count)
    } catch {
      digits.removeLast(count)
      throw error
    }
  }

  /// The rule for the number of digits.
  public static func validateLength(_ digits: Int) throws(Problem) {
    guard digits > 0 else { throw .empty }
    guard digits <= maximumDigits else { throw .tooLong(digits) }
    guard digits % 2 == 0 else { throw .oddLength(digits) }
  }

  /// A token in the form for logs: its first eight digits and an ellipsis.
  public static func shortened(_ text: Span<UInt8>) -> String {
    text.count <= 8 ? text.text : text.extracting(0..<8).text + "…"
  }

  /// A token in the form for logs: its first eight digits and an ellipsis.
  public static func shortened(_ text: String) -> String { shortened(text.utf8.span) }
}
