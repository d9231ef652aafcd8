// SPDX-License-Identifier: Apache-2.0
import HTTPClient
import HTTPServer
import Synchronization
import Testing

/// Makes lines until it has made enough; counts what was asked for.
private final class Lines: Sendable {
  private let made = Mutex(0)
  private let total: Int
  init(_ total: Int) { self.total = total }

  func next() -> [UInt8]? {
    made.withLock { count in
      guard count < total else { return nil }
      count += 1
      return Array("{\"number\":\(count)}\n".utf8)
    }
  }
}

@Suite struct HTTPServerTests {
  private let server: HTTPServer
  private let client = HTTPClient(timeoutMilliseconds: 30_000)
  private var base: String { "http://127.0.0.1:\(server.port)" }

  init() throws {
    server = try HTTPServer(
      port: 0, bodyLimit: 1_000,
      routes: [
        HTTPRoute("GET", "/health") { _ in .text("ok\n") },
        HTTPRoute("PUT", "/echo") { .json(String(decoding: $0.body, as: UTF8.self)) },
        HTTPRoute("GET", "/query") { request in
          .text(request.query.map { "\($0.name)=\($0.value);" }.joined())
        },
        HTTPRoute("GET", "/tokens/*") { .text($0.path) },
        HTTPRoute("GET", "/report") { _ in
          let lines = Lines(100_000)
          return .jsonLines { lines.next() }
        },
        HTTPRoute("GET", "/nothing") { _ in .jsonLines { nil } },
      ])
  }

  @Test func `a route answers, also over a kept connection`() throws {
    for _ in 0..<3 {
      let answer = try client.get("\(base)/health")
      #expect(answer.status == 200)
      #expect(answer.text == "ok\n")
    }
  }

  @Test func `an unknown path is 404, a wrong method 405`() throws {
    let unknown = try client.get("\(base)/other")
    #expect(unknown.status == 404 && unknown.text.contains("/health, /echo, /query"))
    #expect(try client.post("\(base)/health").status == 405)
  }

  @Test func `a body arrives whole up to the limit, a longer one is 413`() throws {
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 1_000)
    let answer = try client.put("\(base)/echo", body)
    #expect(answer.status == 200)
    #expect(answer.body == body + [10], "JSON ends with its line")
    #expect(try client.put("\(base)/echo", body + [0]).status == 413)
    #expect(try client.put("\(base)/echo", [UInt8](repeating: 1, count: 5_000_000)).status == 413)
    #expect(try client.put("\(base)/echo").body.isEmpty)
  }

  @Test func `the query is decoded and keeps its order`() throws {
    #expect(try client.get("\(base)/query?b=1&a=x%20y&b=2").text == "b=1;a=x y;b=2;")
  }

  @Test func `a route with a star takes every path below it`() throws {
    #expect(try client.get("\(base)/tokens/abc").text == "/tokens/abc")
  }

  @Test func `a report is streamed in full and in order`() throws {
    var (lines, count, last) = (0, 0, UInt8(0))
    let answer = try client.stream("\(base)/report") { part in
      count += part.count
      lines += part.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
      last = part.last ?? last
    }
    #expect(answer.status == 200)
    #expect(lines == 100_000)
    #expect(last == UInt8(ascii: "\n"))
    let digits = 9 + 90 * 2 + 900 * 3 + 9_000 * 4 + 90_000 * 5 + 6
    #expect(count == digits + 100_000 * "{\"number\":}\n".utf8.count)
    #expect(try client.get("\(base)/nothing").body.isEmpty)
  }

  @Test func `a taken port is refused with the reason`() {
    do throws(HTTPServerError) {
      _ = try HTTPServer(port: server.port, routes: [])
      Issue.record("two servers listen on one port")
    } catch {
      #expect(error.description.contains(":\(server.port)"))
      #expect(error.description.contains("in use"))
    }
    #expect(throws: HTTPServerError.self) { try HTTPServer(host: "nowhere", port: 0, routes: []) }
  }
}

@Suite struct HTTPClientTests {
  @Test func `no server is an error that names the address`() {
    do throws(HTTPClientError) {
      _ = try HTTPClient(timeoutMilliseconds: 2_000).get("http://127.0.0.1:1/x")
      Issue.record("something answered on port 1")
    } catch {
      #expect(error.description.contains("127.0.0.1:1"))
    }
  }

  @Test func `an answer that does not come in time is an error`() throws {
    let server = try HTTPServer(
      port: 0,
      routes: [
        HTTPRoute("GET", "/slow") { _ in
          let until = ContinuousClock.now + .milliseconds(600)
          while ContinuousClock.now < until {}
          return .text("late")
        }
      ])
    #expect(throws: HTTPClientError.self) {
      try HTTPClient(timeoutMilliseconds: 100).get("http://127.0.0.1:\(server.port)/slow")
    }
  }
}
