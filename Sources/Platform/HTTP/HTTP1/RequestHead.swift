// SPDX-License-Identifier: Apache-2.0

/// The head of an HTTP/1.1 request: its line and its fields, read by the letter of RFC 9110 and RFC 9112. What they call
/// an error is refused, also where servers are free to guess.
public struct RequestHead: Equatable, Sendable {
  public static let mostFields = 100

  /// The length of the body, or the way it is framed.
  public enum Framing: Equatable, Sendable {
    case length(Int)
    case chunked
  }

  public let method: String
  public let target: RequestTarget
  /// True if the client speaks HTTP/1.1; otherwise HTTP/1.0.
  public let isVersion11: Bool
  /// In their order. A value has no blank at either end.
  public let fields: [(name: String, value: String)]
  public let framing: Framing
  /// `Host`, or the authority of the target; empty if there is neither (HTTP/1.0).
  public let host: String
  /// True if the connection goes on after the answer.
  public let keepsConnection: Bool
  /// True if the client waits for `100 Continue` before it sends the body.
  public let expectsContinue: Bool

  public static func == (one: RequestHead, other: RequestHead) -> Bool {
    one.method == other.method && one.target == other.target && one.framing == other.framing
      && one.isVersion11 == other.isVersion11 && one.host == other.host
      && one.keepsConnection == other.keepsConnection
      && one.fields.elementsEqual(other.fields) { $0 == $1 }
  }

  /// Reads a head, from its first line to the empty one, as `HeadScanner` has found it.
  public init(_ bytes: Span<UInt8>) throws(RequestProblem) {
    guard let first = HTTP.line(of: bytes, from: 0) else {
      throw .malformed("there is no request line")
    }
    let line = try RequestLine(bytes.extracting(first))
    var fields: [(name: String, value: String)] = []
    var position = first.upperBound + 2
    while let range = HTTP.line(of: bytes, from: position) {
      position = range.upperBound + 2
      guard fields.count < Self.mostFields else {
        throw RequestProblem(431, "there are more than \(Self.mostFields) fields")
      }
      fields.append(try Self.field(bytes.extracting(range)))
    }
    try Self.demandSingles(fields)
    method = line.method
    isVersion11 = line.isVersion11
    self.fields = fields
    framing = try Self.framing(fields, line.isVersion11)
    host = try Self.host(fields, line)
    target = try RequestTarget(line.target)
    let connection = Self.list("connection", fields)
    keepsConnection =
      !connection.contains("close") && (line.isVersion11 || connection.contains("keep-alive"))
    expectsContinue = try Self.expectation(fields) && line.isVersion11
  }

  /// The value of the first field of that name, in any case.
  public func field(_ name: String) -> String? {
    fields.first { $0.name.utf8.elementsEqual(name.utf8, by: Self.isSameLetter) }?.value
  }

  private static func isSameLetter(_ one: UInt8, _ other: UInt8) -> Bool {
    one == other || (one | 0x20 == other | 0x20 && (one | 0x20) &- 0x61 < 26)
  }

  /// A field's line, without its end; also one of a chunked body's trailer.
  static func field(_ line: Span<UInt8>) throws(RequestProblem) -> (name: String, value: String) {
    guard line[0] != 0x20, line[0] != 0x09 else { throw .malformed("a folded field") }
    var colon = 0
    while colon < line.count, HTTPToken.isCharacter(line[colon]) { colon += 1 }
    guard colon < line.count, line[colon] == UInt8(ascii: ":"), colon > 0 else {
      throw .malformed("a field whose name is not a token with a colon right behind it")
    }
    var (start, end) = (colon + 1, line.count)
    while start < end, line[start] == 0x20 || line[start] == 0x09 { start += 1 }
    while end > start, line[end - 1] == 0x20 || line[end - 1] == 0x09 { end -= 1 }
    return (line.extracting(0..<colon).text, line.extracting(start..<end).text)
  }

  /// Fields that have one value (RFC 9110 §5.3): of two, one server takes the first and another one the last.
  private static let singles: Set<String> = [
    "authorization", "content-encoding", "content-type", "idempotency-key", "origin",
    "sec-fetch-site",
  ]

  private static func demandSingles(
    _ fields: [(name: String, value: String)]
  ) throws(RequestProblem) {
    var seen: Set<String> = []
    for (name, _) in fields where singles.contains(name.lowercased()) {
      guard seen.insert(name.lowercased()).inserted else {
        throw .malformed("\(name) is given twice")
      }
    }
  }

  private static func values(
    _ name: String, _ fields: [(name: String, value: String)]
  ) -> [String] {
    fields.filter { $0.name.lowercased() == name }.map(\.value)
  }

  private static func list(_ name: String, _ fields: [(name: String, value: String)]) -> [String] {
    values(name, fields).flatMap { $0.split(separator: ",") }.map {
      String($0.filter { $0 != " " && $0 != "\t" }).lowercased()
    }
  }

  /// RFC 9112 §6.3, without its leniencies: two statements about the length are an attempt to smuggle a request.
  private static func framing(
    _ fields: [(name: String, value: String)], _ isVersion11: Bool
  ) throws(RequestProblem) -> Framing {
    let lengths = values("content-length", fields)
    let codings = values("transfer-encoding", fields)
    guard codings.isEmpty else {
      guard lengths.isEmpty else {
        throw .malformed("both Content-Length and Transfer-Encoding are given")
      }
      guard isVersion11 else { throw .malformed("HTTP/1.0 has no Transfer-Encoding") }
      guard codings.count == 1, codings[0].lowercased() == "chunked" else {
        throw RequestProblem(501, "the only Transfer-Encoding that is understood is chunked")
      }
      return .chunked
    }
    guard let length = lengths.first else { return .length(0) }
    guard lengths.count == 1 else { throw .malformed("Content-Length is given twice") }
    guard !length.isEmpty, length.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
      throw .malformed("Content-Length is not a number")
    }
    guard length.utf8.count <= 18, let count = Int(length) else {
      throw RequestProblem(413, "Content-Length is too large")
    }
    return .length(count)
  }

  /// RFC 9112 §3.2: exactly one `Host` in HTTP/1.1; of an absolute target its own counts.
  private static func host(
    _ fields: [(name: String, value: String)], _ line: RequestLine
  ) throws(RequestProblem) -> String {
    let hosts = values("host", fields)
    guard hosts.count <= 1 else { throw .malformed("Host is given twice") }
    guard let host = hosts.first else {
      guard !line.isVersion11 else { throw .malformed("Host is missing") }
      return line.authority ?? ""
    }
    guard HTTPAuthority.isValid(host), line.authority.map(HTTPAuthority.isValid) ?? true else {
      throw .malformed("Host is not a name or an address with an optional port")
    }
    return line.authority ?? host
  }

  private static func expectation(
    _ fields: [(name: String, value: String)]
  ) throws(RequestProblem) -> Bool {
    let expected = list("expect", fields)
    guard expected.allSatisfy({ $0 == "100-continue" }) else {
      throw RequestProblem(417, "the only expectation that is met is 100-continue")
    }
    return !expected.isEmpty
  }
}

/// The line of a head that begins at `start`, without its end; nil for the empty one.
private func line(of bytes: Span<UInt8>, from start: Int) -> Range<Int>? {
  var end = start
  while end < bytes.count, bytes[end] != 0x0D { end += 1 }
  return end > start ? start..<end : nil
}

/// `GET /path HTTP/1.1`.
private struct RequestLine {
  let method: String
  /// The path and the query.
  let target: String
  /// Of an absolute target.
  let authority: String?
  let isVersion11: Bool

  init(_ line: Span<UInt8>) throws(RequestProblem) {
    var space = 0
    while space < line.count, HTTPToken.isCharacter(line[space]) { space += 1 }
    guard space > 0, space < line.count, line[space] == 0x20 else {
      throw .malformed("the request line does not begin with a method and one blank")
    }
    method = line.extracting(0..<space).text
    var end = space + 1
    while end < line.count, line[end] > 0x20, line[end] < 0x7F { end += 1 }
    guard end > space + 1, end < line.count, line[end] == 0x20 else {
      throw .malformed("the request line has no target between two blanks")
    }
    let target = line.extracting((space + 1)..<end).text
    guard !target.utf8.contains(UInt8(ascii: "#")) else {
      throw .malformed("a target has no fragment")
    }
    let version = Array(line.extracting((end + 1)..<line.count).text.utf8)
    guard version.count == 8, version.starts(with: "HTTP/".utf8), version[6] == UInt8(ascii: "."),
      version[5] &- 0x30 < 10, version[7] &- 0x30 < 10
    else { throw .malformed("the request line does not end in the version of HTTP") }
    guard version[5] == UInt8(ascii: "1") else {
      throw RequestProblem(505, "only HTTP/1.1 and HTTP/1.0 are spoken")
    }
    isVersion11 = version[7] != UInt8(ascii: "0")
    (authority, self.target) = try Self.split(target)
  }

  /// A target as a path, or as a whole URL, which RFC 9112 §3.2.2 asks servers to take.
  private static func split(
    _ target: String
  ) throws(RequestProblem) -> (authority: String?, target: String) {
    if target.hasPrefix("/") { return (nil, target) }
    for scheme in ["http://", "https://"] where target.lowercased().hasPrefix(scheme) {
      let rest = target.dropFirst(scheme.utf8.count)
      let path = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
      let tail = rest[path...]
      return (String(rest[..<path]), tail.hasPrefix("/") ? String(tail) : "/\(tail)")
    }
    throw .malformed("the target is neither a path nor a URL")
  }
}

extension Span<UInt8> {
  /// As UTF-8; a byte that is none becomes U+FFFD.
  var text: String {
    String(decoding: (0..<count).map { self[$0] }, as: UTF8.self)
  }
}
