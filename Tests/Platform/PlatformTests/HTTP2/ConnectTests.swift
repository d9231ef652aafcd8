// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import HTTP2
import TestSupport
import Testing

/// How far a connection came that is given up, and what is said of that.
@Suite struct ConnectTests {
  private func given(
    up address: SocketAddress, through proxy: ProxyRequest? = nil, groups: String? = nil,
    after stage: ConnectionStage
  ) throws -> ConnectionFailure {
    let poller = try Poller(capacity: 4)
    let connection = try HTTP2ClientConnection(
      poller: poller, token: 1, tls: .client(groups: groups), serverName: "localhost")
    connection.connect(to: address, through: proxy)
    var events: [ReadyEvent] = []
    var notices: [ConnectionNotice] = []
    func turn() {
      poller.wait(timeoutMilliseconds: 10, into: &events)
      for event in events {
        connection.socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
      }
      notices += connection.drainNotices()
    }
    expectEventually {
      turn()
      return stage == .tcp || notices.contains(.advanced(stage))
    }
    connection.giveUp()
    notices += connection.drainNotices()
    guard case .closed(let failure?) = notices.last else {
      throw ConnectionFailure.http2("it did not end")
    }
    return failure
  }

  @Test func `an address that swallows packets`() throws {
    let hole = try BlackHole(at: .loopback(port: 0))
    let failure = try given(up: hole.address, after: .tcp)
    #expect(failure == .timedOut(.tcp, sent: 0))
    #expect(failure.description.contains("TCP"))
  }

  /// Connections wait in the listener's queue: the system has taken them, and nobody speaks.
  @Test func `TCP is up, and no ServerHello comes; fewer groups make a smaller hello`() throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let address = try #require(bound)
    func hello(_ groups: String?) throws -> Int {
      let failure = try given(up: address, groups: groups, after: .serverHello)
      guard case .timedOut(.serverHello, let sent) = failure else {
        Issue.record("\(failure)")
        return 0
      }
      #expect(failure.description.contains("no answer to the TLS ClientHello of \(sent) bytes"))
      #expect(failure.description.contains("MTU") && failure.description.contains("firewall"))
      return sent
    }
    let (small, large) = (try hello("X25519:P-256"), try hello("P-521:P-384:P-256:X25519:X448"))
    #expect(small > 150 && small < large)
    #expect(throws: TLSError.self) { _ = try TLSContext.client(groups: "X25519:nonsense") }
  }

  @Test func `behind a proxy the size of the hello is that of the hello alone`() throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let address = try #require(bound)
    let proxy = try TinyProxy(to: address)
    let request = ProxyRequest(host: "localhost", port: address.port, credentials: nil)
    let direct = try given(up: address, after: .serverHello)
    let tunnelled = try given(up: proxy.address, through: request, after: .serverHello)
    #expect(tunnelled == direct)
  }
}
