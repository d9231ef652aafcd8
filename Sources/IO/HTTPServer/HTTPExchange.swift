// SPDX-License-Identifier: Apache-2.0

/// One request to an `HTTPServer`, complete with its body.
package struct HTTPRequest: Sendable {
  package let method: String
  /// Without the query, percent-decoded.
  package let path: String
  /// The query's parts in their order, percent-decoded.
  package let query: [(name: String, value: String)]
  package let body: [UInt8]

  /// The value of the query's first part of that name.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }
}

/// What a route answers.
package struct HTTPResponse: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// Asked for piece after piece until nil, on the server's thread; no piece is empty. For
    /// reports that are too large to hold at once.
    case pieces(@Sendable () -> [UInt8]?)
    /// The first bytes of a file; the descriptor is closed afterwards.
    case file(descriptor: Int32, count: Int)
  }

  package var status: Int
  package var contentType: String
  package var body: Body
  /// Further header fields.
  package var headers: [(name: String, value: String)]

  package init(
    status: Int = 200, contentType: String, body: Body,
    headers: [(name: String, value: String)] = []
  ) {
    self.status = status
    self.contentType = contentType
    self.body = body
    self.headers = headers
  }

  package static func text(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(
      status: status, contentType: "text/plain; charset=utf-8", body: .bytes(Array(text.utf8)))
  }

  package static func json(_ text: String, status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: .bytes(Array(text.utf8)))
  }

  /// Lines of JSON, made while they are sent.
  package static func jsonLines(_ next: @escaping @Sendable () -> [UInt8]?) -> HTTPResponse {
    HTTPResponse(contentType: "application/x-ndjson", body: .pieces(next))
  }
}

/// Who answers which requests.
package struct HTTPRoute: Sendable {
  package let method: String
  /// The whole path, or with `*` at its end every path that begins so.
  package let path: String
  package let handler: @Sendable (HTTPRequest) -> HTTPResponse

  package init(
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
