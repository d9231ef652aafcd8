// SPDX-License-Identifier: Apache-2.0

/// One request to an `HTTPServer`, complete with its body.
public struct HTTPRequest: Sendable {
  public let method: String
  /// Without the query, percent-decoded.
  public let path: String
  /// The query's parts in their order, percent-decoded.
  public let query: [(name: String, value: String)]
  public let body: [UInt8]

  public func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

public struct HTTPResponse: Sendable {
  public enum Body: Sendable {
    case bytes([UInt8])
    /// Asked for piece after piece until nil, on the server's thread; no piece is empty. For
    /// reports that are too large to hold at once.
    case pieces(@Sendable () -> [UInt8]?)
    /// The first bytes of a file; the descriptor is closed afterwards.
    case file(descriptor: Int32, count: Int)
  }

  public var status: Int
  public var contentType: String
  public var body: Body
  /// Further header fields.
  public var headers: [(name: String, value: String)]

  public init(
    status: Int = 200, contentType: String, body: Body,
    headers: [(name: String, value: String)] = []
  ) {
    self.status = status
    self.contentType = contentType
    self.body = contentType.hasSuffix("json") ? Self.line(body) : body
    self.headers = headers
  }

  /// Bytes of memory that the body takes.
  public var heldBytes: Int { if case .bytes(let bytes) = body { bytes.count } else { 0 } }

  /// JSON text that ends with its line, so that a terminal's prompt stands below it.
  private static func line(_ body: Body) -> Body {
    guard case .bytes(let bytes) = body, let last = bytes.last, last != 10 else { return body }
    return .bytes(bytes + [10])
  }

  public static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "text/plain; charset=utf-8", body: .bytes(Array(text.utf8)))
  }

  public static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: .bytes(Array(text.utf8)))
  }

  /// Lines of JSON, made while they are sent.
  public static func jsonLines(_ next: @escaping @Sendable () -> [UInt8]?) -> HTTPResponse {
    HTTPResponse(contentType: "application/x-ndjson", body: .pieces(next))
  }
}

/// A route: the requests that it matches, and the handler that answers them.
public struct HTTPRoute: Sendable {
  public let method: String
  /// The whole path, or with `*` at its end every path that begins so.
  public let path: String
  public let handler: @Sendable (HTTPRequest) -> HTTPResponse

  public init(
    _ method: String, _ path: String, _ handler: @escaping @Sendable (HTTPRequest) -> HTTPResponse
  ) {
    self.method = method
    self.path = path
    self.handler = handler
  }

  func covers(_ path: String) -> Bool {
    self.path.hasSuffix("*") ? path.hasPrefix(self.path.dropLast()) : path == self.path
  }

  /// A HEAD request is answered as GET; the library leaves its body out.
  func takes(_ method: String) -> Bool {
    method == self.method || (method == "HEAD" && self.method == "GET")
  }
}
