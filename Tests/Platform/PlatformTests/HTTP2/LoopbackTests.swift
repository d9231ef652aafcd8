// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

/// Client and server connections over real sockets and TLS, on one poller.
@Suite struct LoopbackTests {
  @Test(arguments: HTTP2Implementation.allCases)
  func `requests are answered over TLS`(_ http2: HTTP2Implementation) throws {
    let rig = try Rig(http2)
    try rig.connect()
    let exchanges = (0..<2_000).map { rig.exchange(body: 300 + $0) }
    var submitted = 0
    var completed: [UnsafeMutablePointer<Exchange>] = []
    try rig.turn(
      until: { completed.count == 2_000 },
      each: {
        while submitted < 2_000, rig.submit(exchanges[submitted]) { submitted += 1 }
        rig.answerAll()
        completed += rig.completed()
      })
    #expect(completed.allSatisfy { $0.pointee.status == 200 && $0.pointee.ended })
    #expect(Set(completed).count == 2_000)
    rig.client.close()
    #expect(rig.client.isClosed)
    #expect(rig.client.drainNotices().last == .closed(nil))
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `both sides end in good order after a GOAWAY`(_ http2: HTTP2Implementation) throws {
    let rig = try Rig(http2)
    try rig.connect()
    let exchange = rig.exchange(body: 10)
    let isTaken = rig.submit(exchange)
    #expect(isTaken)
    try rig.turn(until: { rig.hasRequests })
    rig.server?.sendGoAway(debug: Array("{\"reason\":\"Shutdown\"}".utf8))
    rig.answerAll()
    var notices: [ConnectionNotice] = []
    try rig.turn(until: { rig.client.isClosed }, each: { notices += rig.client.drainNotices() })
    notices += rig.client.drainNotices()
    #expect(
      notices == [
        .goAway(lastStreamID: 1, code: 0, debug: Array("{\"reason\":\"Shutdown\"}".utf8)),
        .closed(nil),
      ])
    #expect(rig.completed() == [exchange])
    #expect(exchange.pointee.fate == .answered)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a reset connection completes its exchanges once`(_ http2: HTTP2Implementation) throws {
    let rig = try Rig(http2)
    try rig.connect()
    let exchanges = (0..<5).map { rig.exchange(body: $0) }
    for exchange in exchanges {
      let isTaken = rig.submit(exchange)
      #expect(isTaken)
    }
    try rig.turn(until: { rig.hasRequests })
    rig.server?.abort()
    try rig.turn(until: { rig.client.isClosed })
    let completed = rig.completed()
    #expect(Set(completed) == Set(exchanges))
    #expect(completed.count == 5)
    #expect(completed.allSatisfy { $0.pointee.fate == .ambiguous })
    let last = rig.client.drainNotices().last
    guard case .closed(.some) = last else {
      return #expect(Bool(false), "expected a failure, not \(String(describing: last))")
    }
    #expect(!rig.submit(rig.exchange(body: 1)))
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a refused TCP connection is reported`(_ http2: HTTP2Implementation) throws {
    let rig = try Rig(http2)
    let client = try rig.newClient()
    // The listener of another rig that is gone.
    client.connect(to: try Rig(http2).address)
    try rig.turn(until: { client.isClosed }, serving: client)
    guard case .closed(.connect(let error)) = client.drainNotices().last else {
      return #expect(Bool(false), "expected a refused connection")
    }
    #expect(error.description.hasPrefix("cannot connect"))
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a server with the wrong name is reported with the reason`(_ http2: HTTP2Implementation)
    throws
  {
    let rig = try Rig(http2)
    let client = try rig.newClient(name: "gateway.example")
    client.connect(to: rig.address)
    try rig.turn(until: { client.isClosed }, serving: client)
    guard case .closed(.tls(let error)) = client.drainNotices().last else {
      return #expect(Bool(false), "expected a TLS failure")
    }
    #expect(error.kind == .certificate)
    #expect(error.message.contains("gateway.example"))
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a server that hangs up during the handshake is reported`(_ http2: HTTP2Implementation)
    throws
  {
    let rig = try Rig(http2)
    let listener = try Socket.listening(on: .loopback(port: 0))
    let bound = listener.localAddress
    let client = try rig.newClient()
    client.connect(to: try #require(bound))
    try rig.turn(
      until: { client.isClosed }, serving: client,
      each: {
        // Accepted and closed at once.
        _ = try? listener.accept()
      })
    guard case .closed(.some) = client.drainNotices().last else {
      return #expect(Bool(false), "expected a failure")
    }
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a slow reader blocks the writer until it reads again`(_ http2: HTTP2Implementation) throws {
    let rig = try Rig(http2)
    try rig.connect()
    // More than the sockets' buffers hold, within the stream limit.
    let exchanges = (0..<500).map { _ in rig.exchange(body: 16_000) }
    var completed = 0
    var submitted = 0
    rig.isServerReading = false
    try rig.turn(
      until: { submitted == 500 },
      each: {
        while submitted < 500, rig.submit(exchanges[submitted]) { submitted += 1 }
      })
    rig.isServerReading = true
    try rig.turn(
      until: { completed == 500 },
      each: {
        rig.answerAll()
        completed += rig.completed().count
      })
    #expect(exchanges.allSatisfy { $0.pointee.status == 200 })
    #expect(rig.client.bytesWaiting == 0)
  }

  /// How much a socket takes is the system's choice; most take all that waits once the server has made room.
  @Test(arguments: HTTP2Implementation.allCases)
  func `what is behind a full buffer goes on when the socket takes the buffer as a whole`(
    _ http2: HTTP2Implementation
  ) throws {
    let rig = try Rig(http2, connectionWindow: .max, maxConcurrentStreams: 100_000)
    try rig.connect()
    rig.isServerReading = false
    var exchanges: [UnsafeMutablePointer<Exchange>] = []
    func submit() {
      for _ in 0..<20 {
        let new = rig.exchange(body: 5_000)
        let isTaken = rig.submit(new)
        #expect(isTaken)
        exchanges.append(new)
      }
    }
    try rig.turn(
      until: { rig.client.bytesWaiting >= SecureChannel.waitingLimit }, each: { submit() })
    // There is no room for these.
    submit()
    let last = try #require(exchanges.last)
    let written = exchanges.count { $0.pointee.bodySent == $0.pointee.bodyCount }
    let sent = written - rig.client.bytesWaiting / 5_000 - 4
    rig.isClientTurning = false
    rig.isServerReading = true
    try rig.turn(until: { rig.arrivedStreams.count >= sent })
    rig.client.flush()
    rig.isClientTurning = true
    rig.flushesOnEvents = true
    try rig.turn(until: { rig.arrivedStreams.contains(last.pointee.streamID) })
    #expect(rig.client.bytesWaiting == 0)
  }
}
