// SPDX-License-Identifier: Apache-2.0

/// The path and the query of a request, percent-decoded. An escape that is none, an escaped NUL (a text that ends there in
/// one place and goes on in another) and bytes that are not UTF-8 are refused.
public struct RequestTarget: Equatable, Sendable {
  public let path: String
  /// The query's parts in their order.
  public let query: [(name: String, value: String)]

  public static func == (one: RequestTarget, other: RequestTarget) -> Bool {
    one.path == other.path && one.query.elementsEqual(other.query) { $0 == $1 }
  }

  /// - Parameter text: as the request line has it: `/path?name=value`.
  public init(_ text: String) throws(RequestProblem) {
    let parts = text.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = try Self.decode(parts[0], plusIsBlank: false)
    var query: [(name: String, value: String)] = []
    for part in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      query.append(
        (
          try Self.decode(pair[0], plusIsBlank: true),
          pair.count > 1 ? try Self.decode(pair[1], plusIsBlank: true) : ""
        ))
    }
    self.query = query
  }

  public func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// A name that two parts of the query have.
  public var repeatedName: String? {
    var seen: Set<String> = []
    return query.first { !seen.insert($0.name).inserted }?.name
  }

  /// A name in the query that is none of these.
  public func unknownName(besides known: [String]) -> String? {
    query.first { !known.contains($0.name) }?.name
  }

  private static func decode(
    _ text: Substring, plusIsBlank: Bool
  ) throws(RequestProblem) -> String {
    let bytes = Array(text.utf8)
    var decoded: [UInt8] = []
    decoded.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "%"):
        guard index + 2 < bytes.count, let high = HTTPToken.hexDigit(bytes[index + 1]),
          let low = HTTPToken.hexDigit(bytes[index + 2]), high << 4 | low != 0
        else {
          throw .malformed("an escape in the target that is %00, or not % and two hex digits")
        }
        decoded.append(high << 4 | low)
        index += 3
      case UInt8(ascii: "+") where plusIsBlank:
        decoded.append(0x20)
        index += 1
      case let byte:
        decoded.append(byte)
        index += 1
      }
    }
    guard let text = String(validating: decoded, as: UTF8.self) else {
      throw .malformed("the target is not UTF-8")
    }
    return text
  }
}
