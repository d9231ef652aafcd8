// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

/// The server session of load tests, with both clients.
@Suite struct FastServerSessionTests {
  /// A client and a fast server back to back; the server's input comes in pieces of so many bytes.
  private final class Pair {
    let client: HTTP2ClientSession
    let pool = ServerRequestPool(keepsContent: false)
    let server: FastServerSession
    let piece: Int
    let exchanges: UnsafeMutablePointer<Exchange>
    let count: Int
    let body: UnsafeMutablePointer<UInt8>
    var statuses: [UInt16] = []
    var submitted = 0

    init(_ http2: HTTP2Implementation, count: Int, body size: Int, piece: Int = .max) {
      client = HTTP2ClientSession(http2, settings: SessionSettings())
      server = FastServerSession(settings: .gateway(maxConcurrentStreams: 10), pool: pool, token: 1)
      self.piece = piece
      self.count = count
      exchanges = .allocate(capacity: count)
      body = .allocate(capacity: size)
      body.initialize(repeating: UInt8(ascii: "x"), count: size)
      for index in 0..<count {
        (exchanges + index).initialize(to: Exchange(owner: UInt32(index)))
        exchanges[index].body = UnsafePointer(body)
        exchanges[index].bodyCount = UInt32(size)
      }
    }

    deinit {
      server.abandon()
      exchanges.deallocate()
      body.deallocate()
    }

    func submit() {
      while submitted < count {
        var headers = HeaderList()
        headers.append(":method", "POST")
        headers.append(":scheme", "https")
        headers.append(":authority", "localhost")
        headers.append(":path", "/3/device/00")
        guard client.submit(headers, exchanges + submitted) else { return }
        submitted += 1
      }
    }

    /// Carries bytes both ways; whether there were any.
    func turn() throws -> Bool {
      var up = ByteBuffer()
      _ = try client.produceOutput(into: &up, upTo: .max)
      var offset = 0
      while offset < up.count {
        let end = min(up.count, offset + min(piece, up.count))
        try server.receive(UnsafeRawBufferPointer(rebasing: up.bytes[offset..<end]))
        offset = end
      }
      var down = ByteBuffer()
      while try server.produceOutput(into: &down, upTo: down.count + 100) {}
      try client.receive(down.bytes)
      var done: [UnsafeMutablePointer<Exchange>] = []
      client.drainCompleted(into: &done)
      statuses += done.map(\.pointee.status)
      return !up.isEmpty || !down.isEmpty
    }

    func answer() {
      var ready: [UnsafeMutablePointer<ServerRequest>] = []
      pool.drainReady(into: &ready)
      for request in ready {
        var headers = HeaderList()
        headers.append(":status", "200")
        headers.append("apns-id", "00000000-0000-4000-8000-000000000000")
        server.respond(request, headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
      }
    }

    func run() throws {
      var isBusy = true
      while isBusy {
        submit()
        isBusy = try turn()
        answer()
        isBusy = try turn() || isBusy
      }
    }
  }

  /// 300 bodies of 4,096 bytes are far more than the connection's window, one of 100,000 more than a stream's.
  @Test(
    arguments: HTTP2Implementation.allCases,
    [(300, 4_096, Int.max), (60, 0, 7), (60, 262, 1), (2, 100_000, 1_000)])
  func `every request is answered, whatever its pieces`(
    http2: HTTP2Implementation, shape: (count: Int, body: Int, piece: Int)
  ) throws {
    let pair = Pair(http2, count: shape.count, body: shape.body, piece: shape.piece)
    try pair.run()
    #expect(pair.statuses == Array(repeating: 200, count: shape.count))
    #expect(pair.server.openStreams == 0)
    #expect(pair.server.lastStreamID == Int32(2 * shape.count - 1))
  }

  /// The preface of a client and what follows it.
  private func receive(_ server: FastServerSession, _ bytes: [UInt8]) throws {
    try bytes.withUnsafeBytes { try server.receive($0) }
  }

  private func output(_ server: FastServerSession) throws -> [UInt8] {
    var buffer = ByteBuffer()
    _ = try server.produceOutput(into: &buffer, upTo: .max)
    return Array(buffer.bytes)
  }

  private let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private func session(streams: UInt32 = 1) throws -> (FastServerSession, ServerRequestPool) {
    let pool = ServerRequestPool(keepsContent: false)
    let server = FastServerSession(
      settings: .gateway(maxConcurrentStreams: streams), pool: pool, token: 1)
    try receive(server, preface)
    _ = try output(server)
    return (server, pool)
  }

  @Test func `PING and SETTINGS are acknowledged`() throws {
    let (server, _) = try session()
    try receive(server, frame(type: 4, []) + frame(type: 6, [1, 2, 3, 4, 5, 6, 7, 8]))
    #expect(
      try output(server) == frame(type: 4, flags: 1, [])
        + frame(type: 6, flags: 1, [1, 2, 3, 4, 5, 6, 7, 8]))
    try receive(server, frame(type: 4, flags: 1, []) + frame(type: 6, flags: 1, Array(1...8)))
    #expect(try output(server).isEmpty)
  }

  @Test func `a stream above the limit is refused, and one that was reset is not open`() throws {
    let (server, pool) = try session()
    try receive(server, frame(type: 1, flags: 4, stream: 1, [0x82]))
    try receive(server, frame(type: 1, flags: 4, stream: 3, [0x82]))
    #expect(try output(server) == frame(type: 3, stream: 3, [0, 0, 0, 7]))
    // Its body comes nevertheless.
    try receive(server, frame(type: 0, flags: 1, stream: 3, [1]))
    #expect(server.openStreams == 1)
    try receive(server, frame(type: 3, stream: 1, [0, 0, 0, 8]))
    #expect(server.openStreams == 0)
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    #expect(ready.isEmpty)
  }

  @Test func `requests of a session that is gone are alive no more`() throws {
    let (server, pool) = try session()
    try receive(server, frame(type: 1, flags: 5, stream: 1, [0x82]))
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    #expect(ready.count == 1)
    server.abandon()
    let isAlive = ready.contains { $0.pointee.isAlive }
    #expect(!isAlive)
  }

  @Test func `after GOAWAY of either side it ends with its last stream`() throws {
    let (server, _) = try session()
    #expect(!server.isFinished)
    try receive(server, frame(type: 7, Array(repeating: 0, count: 8)))
    #expect(server.isFinished)
    let (other, _) = try session()
    other.sendGoAway(lastStreamID: nil, code: 0, debug: [])
    #expect(!other.isFinished)
    #expect(try output(other) == frame(type: 7, Array(repeating: 0, count: 8)))
    #expect(other.isFinished)
  }

  @Test func `what is not HTTP/2 ends the connection`() throws {
    let server = FastServerSession(
      settings: nil, pool: ServerRequestPool(keepsContent: false), token: 1)
    #expect(throws: ConnectionFailure.self) {
      try receive(server, Array("GET / HTTP/1.1\r\n\r\n".utf8))
    }
    let (other, _) = try session()
    #expect(throws: ConnectionFailure.self) { try receive(other, [0, 64, 1, 0, 0, 0, 0, 0, 1]) }
  }
}
