// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

@testable import GatewaySimulator

/// Two ends of a connection on the loopback. The server's last words lie ready for the client, and the client's bytes
/// unread at the server.
private final class UnreadConnection {
  let client: Socket
  private let listener: Socket
  private let poller: Poller

  init() throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let client = try Socket.connecting(to: try #require(bound))
    poller = try Poller()
    self.listener = listener
    self.client = client
  }

  func accept() throws -> Socket? {
    try poller.add(listener.fd, token: 1, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 10_000, into: &events)
    poller.remove(listener.fd)
    guard let server = try listener.accept() else { return nil }
    _ = write("words of the client", to: client)
    try poller.add(server.fd, token: 2, .readable)
    poller.wait(timeoutMilliseconds: 10_000, into: &events)
    poller.remove(server.fd)
    _ = write("GOAWAY", to: server)
    return server
  }

  func write(_ text: String, to socket: borrowing Socket) -> Socket.Transfer {
    Array(text.utf8).withUnsafeBytes { socket.write($0) }
  }

  /// What the client reads next.
  func read() -> Socket.Transfer {
    try? poller.add(client.fd, token: 3, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 10_000, into: &events)
    poller.remove(client.fd)
    return withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { client.read(into: $0) }
  }
}

@Suite struct ClosingSocketsTests {
  @Test func `a client reads the end of the stream, whatever it has sent`() throws {
    let connection = try UnreadConnection()
    let sockets = ClosingSockets()
    guard let server = try connection.accept() else { throw CancellationError() }
    sockets.add(server)
    #expect(connection.read() == .moved(6))
    #expect(connection.read() == .end)
    #expect(connection.write("more", to: connection.client) == .moved(4))
    sockets.turn(now: MonotonicClock.milliseconds())
    #expect(!sockets.isEmpty)
    #expect(connection.write("still more", to: connection.client) == .moved(10))
  }

  @Test func `without such sockets the client reads that the connection was reset`() throws {
    let connection = try UnreadConnection()
    _ = try connection.accept()
    #expect(connection.read() == .moved(6))
    #expect(connection.read() == .failed(ECONNRESET))
  }

  @Test func `sockets close when the client has closed, and when it takes too long`() throws {
    let sockets = ClosingSockets()
    let now = MonotonicClock.milliseconds()
    do {
      let connection = try UnreadConnection()
      guard let server = try connection.accept() else { throw CancellationError() }
      sockets.add(server)
      sockets.turn(now: now)
      #expect(!sockets.isEmpty)
    }
    let limit = MonotonicClock.milliseconds() + 60_000
    while !sockets.isEmpty, MonotonicClock.milliseconds() < limit { sockets.turn(now: now) }
    #expect(sockets.isEmpty)
    let connection = try UnreadConnection()
    guard let server = try connection.accept() else { throw CancellationError() }
    sockets.add(server)
    sockets.turn(now: now + ClosingSockets.patience + 60_000)
    #expect(sockets.isEmpty)
    #expect(connection.read() == .moved(6))
  }
}
