// SPDX-License-Identifier: Apache-2.0

extension DeviceToken {
  /// The forms in which applications send something that is not a token in hexadecimal digits, or not yet.
  public enum TokenLookalike: Equatable, Sendable {
    case base64
    /// `{length = 32, bytes = 0x740f4707 ... }`: NSData's description since iOS 13, which omits bytes.
    case dataDescription
    case expo
    case firebase
    case uuid
    case missingValue
    case quoted
    case prefixed
    case severalLines
    case percentEncoded

    /// The likely kind of an invalid token; nil if it resembles nothing known.
    public init?(_ text: Span<UInt8>) {
      let range = DeviceToken.trimmed(text)
      // Only the start of a long text is shown anywhere; no token is longer.
      let bytes = range.prefix(600).map { text[$0] }
      guard let found = Self.find(bytes) else { return nil }
      self = found
    }

    private static func find(_ bytes: [UInt8]) -> TokenLookalike? {
      let text = String(decoding: bytes, as: UTF8.self)
      let lower = text.lowercased()
      if missing.contains(lower) { return .missingValue }
      if lower.hasPrefix("exponentpushtoken[") || lower.hasPrefix("expopushtoken[") { return .expo }
      if lower.hasPrefix("{length") || lower.hasPrefix("length =") || text.contains("...") {
        return .dataDescription
      }
      if lower.hasPrefix("optional(") || text.hasPrefix("\"") || text.hasPrefix("'") {
        return .quoted
      }
      if lower.hasPrefix("0x") { return .prefixed }
      if text.contains("%") { return .percentEncoded }
      if bytes.contains(where: { (0x09...0x0D).contains($0) }) { return .severalLines }
      // One wrong digit is no other encoding: encoded texts have many letters beyond f.
      let isEncoded = bytes.count { HexDigit.value($0) > 15 } >= 8
      if isEncoded, text.contains(":"), bytes.count >= 100, isBase64(text.replacing(":", with: ""))
      {
        return .firebase
      }
      if bytes.count == 36, text.split(separator: "-").map(\.utf8.count) == [8, 4, 4, 4, 12] {
        return .uuid
      }
      return isEncoded && bytes.count >= 40 && isBase64(text) ? .base64 : nil
    }

    private static let missing: Set = [
      "null", "nil", "(null)", "<null>", "undefined", "none", "[object object]", "nan",
    ]

    private static func isBase64(_ text: String) -> Bool {
      text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          true
        default: "+/-_=".utf8.contains(byte)
        }
      }
    }

    /// The likely kind of the text, and its remedy.
    public var words: String {
      switch self {
      case .base64: "it looks like base64: send the token's bytes as hexadecimal digits"
      case .dataDescription:
        "it looks like the description of a Data object, which leaves bytes out: in the app, write"
          + " token.map { String(format: \"%02x\", $0) }.joined()"
      case .expo:
        "it looks like a push token of Expo, which only Expo's service knows: in the app, use"
          + " getDevicePushTokenAsync()"
      case .firebase:
        "it looks like a registration token of Firebase (FCM), which APNs does not know: in the app, use the device"
          + " token of didRegisterForRemoteNotificationsWithDeviceToken"
      case .uuid:
        "it looks like a UUID, such as a device's or an installation's, not like a device token"
      case .missingValue: "it looks like a missing value that was written as text"
      case .quoted: "it has quotation marks or Optional() around it"
      case .prefixed: "it begins with 0x: leave that out"
      case .severalLines: "it has a tab or a line end in the middle: one token each"
      case .percentEncoded: "it looks percent-encoded: decode it first"
      }
    }
  }
}
