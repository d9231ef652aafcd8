// SPDX-License-Identifier: Apache-2.0
import Testing
import Waiting

@testable import HTTP

/// Reads a head as a server does, in pieces of `step` bytes.
private func head(_ text: String, step: Int = .max) throws(RequestProblem) -> RequestHead? {
  try head(Array(text.utf8), step: step)
}

private func head(_ bytes: [UInt8], step: Int = .max) throws(RequestProblem) -> RequestHead? {
  var scanner = HeadScanner()
  var count = 0
  while count < bytes.count {
    count = min(bytes.count, step == .max ? bytes.count : count + step)
    if let found = try scanner.find(in: bytes.span.extracting(0..<count)) {
      return try RequestHead(bytes.span.extracting(found))
    }
  }
  return nil
}

private func status(_ text: String) -> Int {
  do throws(RequestProblem) {
    return try head(text) == nil ? 0 : 200
  } catch {
    return error.status
  }
}

/// Heads of requests, with `HTTPToken`.
@Suite struct RequestHeadTests {
  private static let good =
    "POST /v1/a%20b?x=1&y=%2B+z HTTP/1.1\r\nHost: a.b:80\r\nContent-Length: 12\r\nX-Empty:\r\nX-Blank: \t v w \t\r\n\r\n"

  @Test(arguments: [1, 2, 3, 7, Int.max])
  func `a head is read whole, in whatever pieces it comes`(step: Int) throws {
    let head = try #require(try head(Self.good, step: step))
    #expect(head.method == "POST")
    #expect(head.target.path == "/v1/a b")
    #expect(head.target.query.map(\.value) == ["1", "+ z"])
    #expect(head.target.query("y") == "+ z")
    #expect(head.framing == .length(12))
    #expect(head.host == "a.b:80")
    #expect(head.keepsConnection && head.isVersion11 && !head.expectsContinue)
    #expect(head.field("x-BLANK") == "v w")
    #expect(head.field("X-Empty") == "")
    #expect(head.field("X") == nil)
    #expect(try PlatformTests.head(String(Self.good.dropLast()), step: step) == nil)
  }

  @Test func `each error that RFC 9112 names is refused`() {
    let line = "GET / HTTP/1.1\r\n"
    let cases: [(String, Int)] = [
      // Two statements about the length.
      (line + "Host: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
      (line + "Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 1, 1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: +1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: -1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 0x1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: \r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 1 1\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
      // Codings.
      (line + "Host: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
      (line + "Host: a\r\nTransfer-Encoding: identity\r\n\r\n", 501),
      (line + "Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 501),
      (line + "Host: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501),
      ("GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
      (line + "Host: a\r\nTransfer-Encoding: Chunked\r\n\r\n", 200),
      // Names of fields.
      (line + "Host: a\r\nContent-Length : 1\r\n\r\n", 400),
      (line + "Host: a\r\nX\t: 1\r\n\r\n", 400),
      (line + "Host: a\r\n: 1\r\n\r\n", 400), (line + "Host: a\r\nX\r\n\r\n", 400),
      (line + "Host: a\r\nX(: 1\r\n\r\n", 400), (line + "Host: a\r\nX Y: 1\r\n\r\n", 400),
      // Lines.
      ("GET / HTTP/1.1\nHost: a\n\n", 400), (line + "Host: a\n\r\n", 400),
      (line + "Host: a\r\n\n", 400), (line + "Host: a\rX: 1\r\n\r\n", 400),
      (line + "Host: a\r\nX: 1\r\n y\r\n\r\n", 400), (line + "Host: a\r\nX: 1\r\n\ty\r\n\r\n", 400),
      (line + " Host: a\r\n\r\n", 400),
      // Hosts.
      (line + "\r\n", 400), (line + "Host: a\r\nHost: a\r\n\r\n", 400),
      (line + "Host:\r\n\r\n", 400),
      (line + "Host: a b\r\n\r\n", 400), (line + "Host: a/b\r\n\r\n", 400),
      (line + "Host: user@a\r\n\r\n", 400), (line + "Host: a:b\r\n\r\n", 400),
      (line + "Host: [::1]:80\r\n\r\n", 200), ("GET / HTTP/1.0\r\n\r\n", 200),
      ("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400),
      // The request line.
      ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET / HTTP/1.1 \r\nHost: a\r\n\r\n", 400),
      ("GET /\r\nHost: a\r\n\r\n", 400), ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("G@T / HTTP/1.1\r\nHost: a\r\n\r\n", 400), (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505), ("GET / http/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET / HTTP/1.1.1\r\nHost: a\r\n\r\n", 400), ("GET * HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /\u{80} HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      // Targets.
      ("GET /%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /%4 HTTP/1.1\r\nHost: a\r\n\r\n", 400), ("GET /%FF HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /?a=%00 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      ("GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400),
      // Fields of one value.
      (line + "Host: a\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Type: a/b\r\nContent-Type: c/d\r\n\r\n", 400),
      (line + "Host: a\r\nContent-Encoding: gzip\r\nContent-Encoding: gzip\r\n\r\n", 400),
      (line + "Host: a\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n", 400),
      (line + "Host: a\r\nOrigin: a\r\nOrigin: b\r\n\r\n", 400),
      (line + "Host: a\r\nSec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n\r\n", 400),
      (line + "Host: a\r\nAccept: a/b\r\nAccept: c/d\r\n\r\n", 200),
      // Expectations.
      (line + "Host: a\r\nExpect: 100-continue\r\n\r\n", 200),
      (line + "Host: a\r\nExpect: wonders\r\n\r\n", 417),
    ]
    for (text, expected) in cases { #expect(status(text) == expected, "\(text.debugDescription)") }
  }

  @Test func `a name that a query has twice is known`() throws {
    #expect(try RequestTarget("/?app=a&b=1&%61pp=c").repeatedName == "app")
    #expect(try RequestTarget("/?app=a&b=a").repeatedName == nil)
    #expect(try RequestTarget("/?app=a&%62=a").unknownName(besides: ["app"]) == "b")
    #expect(try RequestTarget("/?app=a").unknownName(besides: ["b", "app"]) == nil)
    #expect(try RequestTarget("/?&").unknownName(besides: []) == nil)
  }

  @Test func `control characters are refused wherever they stand`() {
    for byte in (0..<0x20).map(UInt8.init) + [0x7F] where byte != 0x09 && byte != 0x0D {
      for position in [0, 2, 5, 16, 20, 24, 27] {
        var bytes = Array("GET /a HTTP/1.1\r\nHost: abc\r\n\r\n".utf8)
        bytes.insert(byte, at: position)
        #expect(throws: RequestProblem.self, "\(byte) at \(position)") { _ = try head(bytes) }
      }
    }
  }

  @Test func `heads have bounds`() {
    let line = "GET / HTTP/1.1\r\nHost: a\r\n"
    #expect(status(line + String(repeating: "X: 1\r\n", count: 99) + "\r\n") == 200)
    #expect(status(line + String(repeating: "X: 1\r\n", count: 100) + "\r\n") == 431)
    #expect(status(line + "X: " + String(repeating: "x", count: 40_000)) == 431)
    #expect(status(String(repeating: "x", count: 40_000)) == 431)
  }

  @Test func `empty lines before a request are skipped, a whole URL is a target`() throws {
    #expect(try #require(try head("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")).method == "GET")
    let absolute = try #require(try head("GET http://b:81/c?d=e HTTP/1.1\r\nHost: a\r\n\r\n"))
    #expect(absolute.host == "b:81" && absolute.target.path == "/c")
    #expect(try #require(try head("GET HTTP://b HTTP/1.1\r\nHost: a\r\n\r\n")).target.path == "/")
    #expect(status("GET ftp://b/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400)
    #expect(status("GET http://u@b/ HTTP/1.1\r\nHost: a\r\n\r\n") == 400)
  }

  @Test func `the connection goes on unless one side says otherwise`() throws {
    func keeps(_ version: String, _ fields: String) throws -> Bool {
      try #require(try head("GET / HTTP/\(version)\r\nHost: a\r\n\(fields)\r\n")).keepsConnection
    }
    #expect(try keeps("1.1", ""))
    #expect(try !keeps("1.1", "Connection: close\r\n"))
    #expect(try !keeps("1.1", "Connection: x, Close\r\n"))
    #expect(try !keeps("1.0", ""))
    #expect(try keeps("1.0", "Connection: Keep-Alive\r\n"))
    #expect(try keeps("1.7", ""))
  }
}

@Suite struct ChunkedBodyTests {
  /// The content, in pieces of `step` bytes; with what is left behind the body.
  private func read(_ text: String, step: Int) throws(RequestProblem) -> (String, String)? {
    var body = ChunkedBody()
    let all = Array(text.utf8)
    var (buffer, content): ([UInt8], [UInt8]) = ([], [])
    var fed = 0
    while true {
      switch try body.next(buffer.span) {
      case .wait:
        guard fed < all.count else { return nil }
        let count = min(step, all.count - fed)
        buffer += all[fed..<fed + count]
        fed += count
      case .skip(let count): buffer.removeFirst(count)
      case .data(let count):
        content += buffer[..<count]
        buffer.removeFirst(count)
        body.took(count)
      case .end(let count):
        let rest = buffer.dropFirst(count) + all[fed...]
        return (String(decoding: content, as: UTF8.self), String(decoding: rest, as: UTF8.self))
      }
    }
  }

  @Test(arguments: [1, 2, 5, 100])
  func `the content is what the chunks hold, in whatever pieces they come`(step: Int) throws {
    let text = "5\r\nhello\r\n1;a=\"b\"\r\n,\r\nA\r\n0123456789\r\n0\r\nX: 1\r\n\r\nGET"
    let found = try #require(try read(text, step: step))
    #expect(found == ("hello,0123456789", "GET"))
    #expect(try #require(try read("0\r\n\r\n", step: step)) == ("", ""))
    let zeros = String(repeating: "0", count: 60)
    #expect(try #require(try read("\(zeros)1\r\na\r\n\(zeros)\r\n\r\n", step: step)) == ("a", ""))
    #expect(try read("5\r\nhel", step: step) == nil)
    #expect(try read("5\r\nhello\r\n0\r\n", step: step) == nil)
  }

  @Test func `anything but a chunk is refused`() {
    for text in [
      "5\nhello\r\n", "5\r\nhello!\r\n0\r\n\r\n", "g\r\n", "\r\n", "0x5\r\n", "-1\r\n",
      "+5\r\nhello\r\n",
      "5 \r\nhello\r\n", " 5\r\nhello\r\n", "5\r\nhello\n0\r\n\r\n", "0\r\nX: 1\n\r\n",
      "5;\u{0}\r\nhello\r\n", "5\rhello", "FFFFFFFFFFFFFFFF\r\n",
      "8000000000000000\r\n", "0\r\nGET / HTTP/1.1\r\n\r\n", "0\r\nX : 1\r\n\r\n",
      "0\r\nX: 1\r\n folded\r\n\r\n",
      "5;" + String(repeating: "x", count: 300) + "\r\n",
      "0\r\n" + String(repeating: "X: 0123456789\r\n", count: 400) + "\r\n",
    ] {
      #expect(throws: RequestProblem.self, "\(text.debugDescription)") {
        _ = try read(text, step: 3)
      }
    }
  }
}
