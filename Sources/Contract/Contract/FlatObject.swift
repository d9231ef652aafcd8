// SPDX-License-Identifier: Apache-2.0

/// A JSON object of strings, `{"name":"value",…}` without white space between its tokens: the form of `data` in
/// envelopes and in receipts.
public enum FlatObject {
  /// The most bytes of the object in that form.
  public static let maximumBytes = 512

  private static let quote = UInt8(ascii: "\"")

  /// Checks that these bytes are an object in this form: a receipt contains them unchanged.
  public static func isValid(_ text: Span<UInt8>) -> Bool {
    guard text.count >= 2, text.count <= maximumBytes, text[0] == UInt8(ascii: "{"),
      text[text.count - 1] == UInt8(ascii: "}")
    else { return false }
    let end = text.count - 1
    if end == 1 { return true }
    var index = 1
    while true {
      guard skipString(text, &index, end), index < end, text[index] == UInt8(ascii: ":") else {
        return false
      }
      index += 1
      guard skipString(text, &index, end) else { return false }
      if index == end { return true }
      guard text[index] == UInt8(ascii: ",") else { return false }
      index += 1
    }
  }

  /// Skips a JSON string; false if there is none.
  private static func skipString(_ text: Span<UInt8>, _ index: inout Int, _ end: Int) -> Bool {
    guard index < end, text[index] == quote else { return false }
    let start = index + 1
    var place = start
    while place < end, text[place] != quote { place += text[place] == UInt8(ascii: "\\") ? 2 : 1 }
    guard place < end else { return false }
    index = place + 1
    return RequestRules.isEscapedText(text.extracting(start..<place))
  }
}
