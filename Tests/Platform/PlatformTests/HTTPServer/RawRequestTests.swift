// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTPClient
import HTTPServer
import TestSupport
import Testing

/// Bytes on the socket that client libraries do not send.
@Suite struct RawRequestTests {
  private let server: HTTPServer

  init() throws {
    server = try HTTPServer(
      port: 0, bodyLimit: 10_000,
      routes: [
        HTTPRoute("GET", "/health") { _ in .text("ok\n") },
        HTTPRoute("PUT", "/echo") { .text(String(decoding: $0.body, as: UTF8.self)) },
        HTTPRoute("POST", "/reset") { _ in .text("reset\n") },
        HTTPRoute("GET", "/pieces") { _ in .jsonLines(Countdown(3).next) },
        HTTPRoute("GET", "/large") { _ in
          HTTPResponse(contentType: "a/b", body: .bytes(Array(repeating: 120, count: 3_000_000)))
        },
      ])
  }

  private func exchange(_ text: String) throws -> String {
    try RawClient.exchange(text, port: server.port)
  }

  private func status(_ text: String) throws -> Int { RawClient.status(try exchange(text)) }

  private static let close = "Host: localhost\r\nConnection: close\r\n"

  @Test func `what RFC 9112 calls an error is refused, and the connection ends`() throws {
    let smuggled = "GET /health HTTP/1.1\r\n\(Self.close)\r\n"
    for fields in [
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length : 5\r\n", "X: 1\r\n folded\r\n", "X: a\u{0}b\r\n", "X: 1\n",
      "Host: other\r\n",
    ] {
      let answer = try exchange(
        "PUT /echo HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n0\r\n\r\n" + smuggled)
      #expect(RawClient.status(answer) == 400, "\(fields.debugDescription): \(answer)")
      #expect(answer.contains("Connection: close"))
      #expect(answer.components(of: "HTTP/1.1 ") == 1, "\(fields.debugDescription): \(answer)")
    }
    #expect(try status("GET /health HTTP/1.1\r\n\r\n") == 400)
    #expect(try status("GET /health HTTP/1.1\nHost: localhost\n\n") == 400)
    #expect(try status("GET /health HTTP/1.0\r\n\r\n") == 200)
    #expect(try status("nonsense\r\n\r\n") == 400)
  }

  @Test func `a body comes by its length or in chunks, also one byte at a time`() throws {
    let length = "PUT /echo HTTP/1.1\r\n\(Self.close)Content-Length: 11\r\n\r\nhello\r\nfolk"
    let chunked =
      "PUT /echo HTTP/1.1\r\n\(Self.close)Transfer-Encoding: chunked\r\n\r\n6\r\nhello\r\r\n5\r\n\nfolk\r\n0\r\n\r\n"
    for text in [length, chunked] {
      #expect(try exchange(text).hasSuffix("\r\n\r\nhello\r\nfolk"))
      let client = try RawClient(port: server.port)
      for byte in Array(text.utf8) { client.send([byte]) }
      #expect(client.receive().hasSuffix("\r\n\r\nhello\r\nfolk"))
    }
    #expect(
      try status("PUT /echo HTTP/1.1\r\n\(Self.close)Transfer-Encoding: chunked\r\n\r\nz\r\n")
        == 400)
  }

  @Test func `requests behind one another are answered in their order`() throws {
    let one = "PUT /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"
    let text = (0..<200).map { one + String($0 % 10) }.joined()
    let answer = try exchange(text + "GET /health HTTP/1.1\r\n\(Self.close)\r\n")
    #expect(answer.components(of: "HTTP/1.1 200 OK") == 201)
    #expect(answer.hasSuffix("ok\n"))
  }

  @Test func `a client that waits for 100 Continue is told to go on`() throws {
    let client = try RawClient(port: server.port)
    client.send(
      "PUT /echo HTTP/1.1\r\n\(Self.close)Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
    #expect(client.receive(until: "\r\n\r\n") == "HTTP/1.1 100 Continue\r\n\r\n")
    client.send("ok")
    #expect(client.receive().hasSuffix("\r\n\r\nok"))
  }

  @Test func `HEAD has no body, old clients get no chunks, a large answer arrives whole`() throws {
    let head = try exchange("HEAD /health HTTP/1.1\r\n\(Self.close)\r\n")
    #expect(head.contains("Content-Length: 3\r\n") && head.hasSuffix("\r\n\r\n"))
    let old = try exchange("GET /pieces HTTP/1.0\r\n\r\n")
    #expect(old.hasSuffix("\r\n\r\n3\n2\n1\n"))
    let new = try exchange("GET /pieces HTTP/1.1\r\n\(Self.close)\r\n")
    #expect(new.hasSuffix("\r\n\r\n6\r\n3\n2\n1\n\r\n0\r\n\r\n"))
    let large = try exchange("GET /large HTTP/1.1\r\n\(Self.close)\r\n")
    #expect(large.utf8.count > 3_000_000)
  }

  @Test func `a head that does not come to its end is given up, however its bytes drip`() throws {
    let server = try HTTPServer(
      port: 0, idleSeconds: 1, routes: [HTTPRoute("GET", "/health") { _ in .text("ok\n") }])
    let client = try RawClient(port: server.port)
    client.send("GET /health HTTP/1.1\r\n")
    // A byte every now and then does not help.
    #expect(eventually(pauseMilliseconds: 20) { !client.send("X") })
    #expect(client.receive().isEmpty)
  }

  @Test func `pages of other sites are refused, and answers say what browsers need`() throws {
    func status(_ method: String, _ path: String, _ fields: String) throws -> Int {
      try self.status("\(method) \(path) HTTP/1.1\r\nConnection: close\r\n\(fields)\r\n")
    }
    #expect(try status("GET", "/health", "Host: evil.example\r\n") == 421)
    #expect(try status("GET", "/health", "Host: localhost:9\r\n") == 200)
    #expect(
      try status("POST", "/reset", "Host: localhost\r\nOrigin: http://evil.example\r\n") == 403)
    #expect(try status("POST", "/reset", "Host: localhost\r\nOrigin: null\r\n") == 403)
    #expect(
      try status("POST", "/reset", "Host: localhost\r\nSec-Fetch-Site: cross-site\r\n") == 403)
    #expect(try status("POST", "/reset", "Host: localhost\r\nOrigin: http://localhost\r\n") == 200)
    #expect(try status("POST", "/reset", "Host: localhost\r\n") == 200)
    let answer = try exchange("GET /health HTTP/1.1\r\n\(Self.close)\r\n")
    for field in [
      "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY",
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'", "Date: ",
    ] {
      #expect(answer.contains("\r\n\(field)"), "\(field)")
    }
  }
}

/// Lines that count down.
private final class Countdown: Sendable {
  private nonisolated(unsafe) var left: Int

  init(_ left: Int) { self.left = left }

  @Sendable func next() -> [UInt8]? {
    guard left > 0 else { return nil }
    defer { left -= 1 }
    return Array("\(left)\n".utf8)
  }
}

extension String {
  /// How often a text stands in it.
  fileprivate func components(of text: String) -> Int { ranges(of: text).count }
}
