// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTPServer
import Synchronization
import TestSupport
import Testing

/// The work of one turn of a server that its owner polls.
@Suite struct TurnTests {
  /// Counts the pieces of bodies.
  private final class Counter: StreamHandler {
    var pieces = 0
    var hasEnded = false

    func began(_ exchange: StreamExchange) -> HTTPResponse? { nil }

    func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
      pieces += 1
      return bytes.count
    }

    func ended(_ exchange: StreamExchange) {
      hasEnded = true
      exchange.answer(.text("ok\n"))
    }

    func gone(_ exchange: StreamExchange) {}
  }

  private static let head =
    "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"

  @Test func `a turn does little for one connection, however small its chunks are`() throws {
    let handler = Counter()
    let server = try StreamServer(
      host: "127.0.0.1", port: 0, connections: 8, idleSeconds: 60, identity: nil, handler: handler)
    let client = try RawClient(port: server.port)
    client.send(Self.head + String(repeating: "1\r\nx\r\n", count: 5_000) + "0\r\n\r\n")
    var most = 0
    expectEventually {
      let before = handler.pieces
      server.turn()
      most = max(most, handler.pieces - before)
      return handler.hasEnded
    }
    #expect(handler.pieces == 5_000)
    #expect(most <= 64)
    expectEventually {
      server.turn()
      return !server.hasUnsent
    }
    #expect(client.receive().hasPrefix("HTTP/1.1 200"))
  }

  /// A load balancer keeps its connections for minutes, and sends a request on one that the server is about to end.
  @Test
  func `between requests a connection outlives the time for a head, which holds once one begins`()
    throws
  {
    let handler = Counter()
    let server = try StreamServer(
      host: "127.0.0.1", port: 0, connections: 8, idleSeconds: 1, keepAliveSeconds: 3_600,
      identity: nil, handler: handler)
    let client = try RawClient(port: server.port)
    client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    expectEventually {
      server.turn()
      return handler.hasEnded && !server.hasUnsent
    }
    let end = ContinuousClock.now + .milliseconds(1_500)
    expectEventually {
      server.turn()
      return ContinuousClock.now > end
    }
    #expect(server.connections == 1)
    client.send("GET / HTTP")
    expectEventually {
      server.turn()
      return server.connections == 0
    }
  }

  /// Answers before a body is there.
  private final class Refuser: StreamHandler {
    var hasGone = false

    func began(_ exchange: StreamExchange) -> HTTPResponse? { .text("no\n", status: 401) }

    func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
      bytes.count
    }

    func ended(_ exchange: StreamExchange) {}

    func gone(_ exchange: StreamExchange) { hasGone = true }
  }

  /// Many clients read an answer only behind their whole body: a reset would take it from them.
  @Test func `a refused body may go on for as long as it comes`() throws {
    let handler = Refuser()
    let server = try StreamServer(
      host: "127.0.0.1", port: 0, connections: 8, idleSeconds: 30, identity: nil, handler: handler)
    let client = try RawClient(port: server.port)
    client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    expectEventually {
      server.turn()
      return handler.hasGone && !server.hasUnsent
    }
    let end = ContinuousClock.now + .milliseconds(2_500)
    expectEventually {
      if server.connections == 1 { client.send("x") }
      server.turn()
      return ContinuousClock.now > end
    }
    #expect(server.connections == 1)
    #expect(client.receive().hasPrefix("HTTP/1.1 401"))
    expectEventually {
      server.turn()
      return server.connections == 0
    }
  }

  /// Takes every request in the name of its field `Owner`, and answers without end, or not at all.
  private final class Taker: StreamHandler {
    let answers: Bool
    /// How many were taken, and how many turned away, by their owners.
    var taken: [String: Int] = [:]
    var turnedAway: [String: Int] = [:]

    init(answers: Bool) { self.answers = answers }

    func began(_ exchange: StreamExchange) -> HTTPResponse? {
      exchange.owner = exchange.header("Owner").map(\.exact)
      return nil
    }

    func received(_ bytes: UnsafeRawBufferPointer, _ exchange: StreamExchange) -> Int {
      bytes.count
    }

    func ended(_ exchange: StreamExchange) {
      taken[exchange.header("Owner") ?? "", default: 0] += 1
      guard answers else { return }
      exchange.answer(.jsonLines { [UInt8](repeating: 0x78, count: 1 << 16) })
    }

    func gone(_ exchange: StreamExchange) {
      if exchange.isTurnedAway { turnedAway[exchange.header("Owner") ?? "", default: 0] += 1 }
    }
  }

  private static func request(of owner: String) -> String {
    "GET / HTTP/1.1\r\nHost: x\r\nOwner: \(owner)\r\n\r\n"
  }

  /// A server for eight connections, seven of which have a request of `many`.
  private func full(_ handler: Taker) throws -> (server: StreamServer, many: [RawClient]) {
    let server = try StreamServer(
      host: "127.0.0.1", port: 0, connections: 8, idleSeconds: 600, identity: nil, handler: handler)
    let many = try (0..<7).map { _ in try RawClient(port: server.port) }
    for client in many { client.send(Self.request(of: "many")) }
    expectEventually {
      server.turn()
      return handler.taken["many"] == 7
    }
    return (server, many)
  }

  @Test func `a client that does not read its answer makes room for another's request`() throws {
    let handler = Taker(answers: true)
    let (server, many) = try full(handler)
    let few = try RawClient(port: server.port)
    expectEventually {
      few.send(Self.request(of: "few"))
      server.turn()
      return handler.taken["few"] == 1
    }
    #expect(handler.taken["many"] == 7 && handler.turnedAway["many"] == nil)
    withExtendedLifetime(many) {}
  }

  @Test func `a request for which there is no room is told to its handler as an answered one`()
    throws
  {
    let handler = Taker(answers: false)
    let (server, many) = try full(handler)
    let few = try RawClient(port: server.port)
    few.send(Self.request(of: "few"))
    expectEventually {
      server.turn()
      return handler.turnedAway["few"] == 1
    }
    #expect(handler.taken["few"] == nil && handler.turnedAway["many"] == nil)
    #expect(RawClient.status(few.receive(until: "\r\n")) == 503)
    withExtendedLifetime(many) {}
  }

  /// A client may take all that is left in the moment between a full socket and the decision what to wait for.
  @Test func `a long answer goes on however the client's reading falls between its writes`() throws
  {
    let (piece, pieces) = ([UInt8](repeating: 0x78, count: 1 << 16), 4_096)
    let route = HTTPRoute("GET", "/long") { _ in
      let sent = Mutex(0)
      return .jsonLines {
        sent.withLock { sent in
          sent += 1
          return sent > pieces ? nil : piece
        }
      }
    }
    let server = try HTTPServer(port: 0, routes: [route])
    let client = try RawClient(port: server.port)
    client.send("GET /long HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    #expect(client.count() > pieces * piece.count)
  }
}
