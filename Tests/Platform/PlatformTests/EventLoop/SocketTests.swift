// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

@Suite struct SocketTests {
  @Test func `bytes cross a loopback connection and the end is seen`() throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let address = try #require(bound)
    let waiting = try listener.accept() == nil
    #expect(waiting)
    let client = try Socket.connecting(to: address)
    let poller = try Poller()
    try poller.add(listener.fd, token: 1, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    #expect(events.first?.token == 1)
    let accepted = try listener.accept()
    guard let server = consume accepted else {
      return #expect(Bool(false), "no connection to accept")
    }
    let failure = client.failure()
    #expect(failure == nil)
    let written = "hello".utf8.withContiguousStorageIfAvailable {
      client.write(UnsafeRawBufferPointer($0))
    }
    #expect(written == .moved(5))
    try poller.add(server.fd, token: 2, .readable)
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    let first = read(server)
    #expect(first.text == "hello")
    let second = read(server)
    #expect(second.transfer == .wouldBlock)
    client.abort()
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    #expect(events.first?.hangup == true)
    let third = read(server)
    #expect(third.transfer == .failed(ECONNRESET))
  }

  @Test func `a refused connection is an error`() throws {
    // Nobody listens on tcpmux's port; a free one of the system's may be somebody's a moment later.
    let client = try Socket.connecting(to: .loopback(port: 1))
    let poller = try Poller()
    try poller.add(client.fd, token: 1, .writable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    let failure = client.failure()
    #expect(failure?.code == ECONNREFUSED)
  }

  @Test func `several listeners share a port only when asked`() throws {
    let first = try Socket.listening(on: .loopback(port: 0), sharesPort: true)
    let bound = first.localAddress
    let address = try #require(bound)
    let second = try Socket.listening(on: address, sharesPort: true)
    #expect(second.fd != first.fd)
    do {
      _ = try Socket.listening(on: address)
      Issue.record("a third listener without sharing must be refused")
    } catch {
      #expect(error.code == EADDRINUSE)
      #expect(error.remedy == "stop what listens there, or choose another port")
    }
  }

  @Test func `addresses read and print their numeric forms`() throws {
    let four = try #require(SocketAddress(numeric: "127.0.0.1", port: 443))
    #expect(four.description == "127.0.0.1:443")
    #expect(four == .loopback(port: 443))
    let six = try #require(SocketAddress(numeric: "[::1]", port: 2_197))
    #expect(six.description == "[::1]:2197")
    #expect(six.bytes.count == 16)
    #expect(SocketAddress(numeric: "localhost", port: 1) == nil)
    #expect(SocketAddress(bytes: [1, 2, 3], port: 1) == nil)
  }

  private func read(_ socket: borrowing Socket) -> (transfer: Socket.Transfer, text: String) {
    var bytes = [UInt8](repeating: 0, count: 64)
    let transfer = bytes.withUnsafeMutableBytes { socket.read(into: $0) }
    guard case .moved(let count) = transfer else { return (transfer, "") }
    return (transfer, String(decoding: bytes.prefix(count), as: UTF8.self))
  }
}
