// SPDX-License-Identifier: Apache-2.0

/// The address of an HTTP proxy, perhaps with our user name and password: `http://user:password@host:port`.
public struct ProxyURL: Sendable, Equatable {
  public let endpoint: Endpoint
  /// `user:password`, with percent signs decoded: a secret. nil without one.
  public let credentials: String?

  /// - Throws: what is wrong with the text, which is not repeated: it may hold a password.
  public init(parsing text: String) throws(ValueProblem) {
    guard text.hasPrefix("http://") else {
      throw ValueProblem(text: "must be http://host:port or http://user:password@host:port")
    }
    var rest = text.dropFirst("http://".count)
    if rest.hasSuffix("/") { rest = rest.dropLast() }
    var user: Substring?
    // A password may hold an at sign: the host stands behind the last one.
    if let mark = rest.lastIndex(of: "@") {
      user = rest[..<mark]
      rest = rest[rest.index(after: mark)...]
    }
    endpoint = try Endpoint(parsing: String(rest))
    guard let user else {
      credentials = nil
      return
    }
    guard let decoded = Self.decode(user), decoded.contains(":"), !decoded.hasPrefix(":") else {
      throw ValueProblem(text: "must have user:password before the @, percent-encoded where needed")
    }
    credentials = decoded
  }

  private static func decode(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit)
      else { return nil }
      bytes.append(high << 4 | low)
    }
    // A line break would end the header that this goes into.
    guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// A hexadecimal digit's value. `UInt8(_:radix:)` would take a sign.
  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
