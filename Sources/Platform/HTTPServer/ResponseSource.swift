// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc

/// An answer on its way: its head, and its body piece by piece.
struct ResponseSource: ~Copyable {
  /// The bytes of a body that are made at a time.
  private static let piece = 64 << 10

  private enum Rest {
    case nothing
    case bytes(ArraySlice<UInt8>)
    case pieces(() -> [UInt8]?, isChunked: Bool)
    case file(Int32, offset: Int, left: Int)
  }

  private var rest: Rest
  private(set) var head: [UInt8]
  /// True if the connection can go on behind it.
  let keepsConnection: Bool

  /// - Parameters:
  ///   - isHead: leaves the body out (HEAD).
  ///   - isVersion11: the client knows chunks.
  init(
    _ response: HTTPResponse, isHead: Bool, isVersion11: Bool, keepsConnection: Bool, date: String
  ) {
    var fields = ["Date: \(date)", "Content-Type: \(response.contentType)"]
    var keeps = keepsConnection
    switch response.body {
    case .bytes(let bytes):
      fields.append("Content-Length: \(bytes.count)")
      rest = .bytes(bytes[...])
    case .file(let descriptor, let count):
      fields.append("Content-Length: \(count)")
      rest = .file(descriptor, offset: 0, left: count)
    case .pieces(let next):
      if isVersion11 { fields.append("Transfer-Encoding: chunked") } else { keeps = false }
      rest = .pieces(next, isChunked: isVersion11)
    }
    fields += (response.headers + Self.guards(response)).map { "\($0.name): \($0.value)" }
    if !keeps { fields.append("Connection: close") }
    if keeps, !isVersion11 { fields.append("Connection: keep-alive") }
    let line = "HTTP/1.1 \(response.status) \(HTTPStatus.phrase(response.status))"
    head = Array((([line] + fields).joined(separator: "\r\n") + "\r\n\r\n").utf8)
    self.keepsConnection = keeps
    if isHead { endBody() }
  }

  deinit { if case .file(let descriptor, _, _) = rest { close(descriptor) } }

  /// The headers of every answer that restrict a browser: take the type as it is said, and show nothing of it inside
  /// another page.
  private static func guards(_ response: HTTPResponse) -> [(name: String, value: String)] {
    var fields = [("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY")]
    if !response.headers.contains(where: { $0.name == "Content-Security-Policy" }) {
      fields.append(("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"))
    }
    return fields
  }

  private mutating func endBody() {
    if case .file(let descriptor, _, _) = rest { close(descriptor) }
    rest = .nothing
  }

  mutating func drainHead() -> [UInt8] {
    defer { head = [] }
    return head
  }

  /// The next piece of the body with what frames it; nil at the end. Throws when a file cannot be read.
  mutating func next() throws(SystemError) -> [UInt8]? {
    switch rest {
    case .nothing: return nil
    case .bytes(let bytes):
      guard !bytes.isEmpty else { return nil }
      rest = .bytes(bytes.dropFirst(Self.piece))
      return Array(bytes.prefix(Self.piece))
    case .pieces(let next, let isChunked):
      var piece: [UInt8] = []
      while piece.count < Self.piece, let more = next() { piece += more }
      if piece.isEmpty { rest = .nothing }
      guard isChunked else { return piece.isEmpty ? nil : piece }
      return Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [0x0D, 0x0A]
    case .file(let descriptor, let offset, let left):
      guard left > 0 else {
        endBody()
        return nil
      }
      let wanted = min(left, Self.piece)
      var failed = false
      let piece = [UInt8](unsafeUninitializedCapacity: wanted) { buffer, count in
        let got = pread(descriptor, buffer.baseAddress, wanted, off_t(offset))
        failed = got <= 0
        count = max(0, got)
      }
      guard !failed else { throw .last("cannot read an answer's file") }
      rest = .file(descriptor, offset: offset + piece.count, left: left - piece.count)
      return piece
    }
  }
}

/// The reason phrases of the statuses that are answered.
enum HTTPStatus {
  static func phrase(_ status: Int) -> String {
    switch status {
    case 200: "OK"
    case 202: "Accepted"
    case 204: "No Content"
    case 400: "Bad Request"
    case 401: "Unauthorized"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 409: "Conflict"
    case 413: "Content Too Large"
    case 415: "Unsupported Media Type"
    case 417: "Expectation Failed"
    case 421: "Misdirected Request"
    case 429: "Too Many Requests"
    case 431: "Request Header Fields Too Large"
    case 500: "Internal Server Error"
    case 501: "Not Implemented"
    case 503: "Service Unavailable"
    case 505: "HTTP Version Not Supported"
    default: "Status"
    }
  }

  /// Now, as `Date` has it (RFC 9110 §5.6.7).
  static func date() -> String {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    let months = [
      "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
    return "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)])"
      + " \(parts.tm_year + 1_900) \(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
  }
}
