// SPDX-License-Identifier: Apache-2.0

/// The `traceparent` of W3C Trace Context, version 00: `00-<trace id>-<parent id>-<flags>`. It is passed on unchanged,
/// from a request's Kafka header to its receipts.
public enum TraceParent {
  /// The name of the header.
  public static let header = "traceparent"
  /// The fixed length in version 00.
  public static let length = 55

  private static let dash = UInt8(ascii: "-")

  /// True if these bytes are a `traceparent`: hexadecimal digits in lower case, and neither id all zeros.
  public static func isValid(_ text: Span<UInt8>) -> Bool {
    guard text.count == length, text[0] == UInt8(ascii: "0"), text[1] == UInt8(ascii: "0"),
      text[2] == dash, text[35] == dash, text[52] == dash
    else { return false }
    return isID(text.extracting(3..<35)) && isID(text.extracting(36..<52))
      && isHexadecimal(text.extracting(53..<55))
  }

  private static func isID(_ text: Span<UInt8>) -> Bool {
    guard isHexadecimal(text) else { return false }
    for index in text.indices where text[index] != UInt8(ascii: "0") { return true }
    return false
  }

  private static func isHexadecimal(_ text: Span<UInt8>) -> Bool {
    for index in text.indices {
      let byte = text[index]
      guard byte &- 0x30 < 10 || byte &- 0x61 < 6 else { return false }
    }
    return true
  }
}
