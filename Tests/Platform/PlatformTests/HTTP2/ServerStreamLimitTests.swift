// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

/// What a server makes of streams above its limit, and of frames on streams that are over.
@Suite struct ServerStreamLimitTests {
  private static let fields: [HeaderBlocksTests.Field] = [
    (":method", "POST"), (":scheme", "https"), (":path", "/3/device/00"), (":authority", "x"),
  ]
  private let pool = ServerRequestPool()

  private func session(limit: UInt32) -> HTTP2ServerSession {
    HTTP2ServerSession(settings: .gateway(maxConcurrentStreams: limit), pool: pool, token: 1)
  }

  private struct Frame: Equatable {
    var type: UInt8
    var stream: UInt32
    /// The last four bytes: a reset's code.
    var code: UInt32
  }

  private func frames(of session: HTTP2ServerSession) throws -> [Frame] {
    var output = ByteBuffer()
    _ = try session.produceOutput(into: &output, upTo: .max)
    let bytes = Array(output.bytes)
    func number(_ at: Int) -> UInt32 { bytes[at..<at + 4].reduce(0) { $0 << 8 | UInt32($1) } }
    var frames: [Frame] = []
    var at = 0
    while at < bytes.count {
      let end = at + 9 + Int(number(at) >> 8)
      frames.append(Frame(type: bytes[at + 3], stream: number(at + 5), code: number(end - 4)))
      at = end
    }
    return frames
  }

  private func receive(_ bytes: [UInt8], _ session: HTTP2ServerSession) throws {
    try bytes.withUnsafeBytes { try session.receive($0) }
  }

  /// A session whose first stream was answered and is over, with nothing left to send.
  private func answeredSession() throws -> HTTP2ServerSession {
    let session = session(limit: 10)
    var client = HandMadeClient()
    client.request(Self.fields)
    try receive(client.bytes, session)
    var ready: [UnsafeMutablePointer<ServerRequest>] = []
    pool.drainReady(into: &ready)
    var headers = HeaderList()
    headers.append(":status", "200")
    session.respond(
      try #require(ready.first), headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
    _ = try frames(of: session)
    return session
  }

  /// RST_STREAM and GOAWAY.
  private func ends(_ frames: [Frame]) -> [Frame] { frames.filter { $0.type == 3 || $0.type == 7 } }

  @Test(arguments: [UInt32(1), 3])
  func `a stream above the limit is reset, and what follows on it`(limit: UInt32) throws {
    let session = session(limit: limit)
    var client = HandMadeClient()
    // The client has acknowledged the SETTINGS.
    client.frame(4, 1, 0, [])
    for _ in 0...limit { client.request(Self.fields, body: nil) }
    try receive(client.bytes, session)
    let above = 2 * limit + 1
    #expect(ends(try frames(of: session)) == [Frame(type: 3, stream: above, code: 7)])
    try receive(frame(type: 0, flags: 1, stream: above, Array("{}".utf8)), session)
    #expect(ends(try frames(of: session)) == [Frame(type: 3, stream: above, code: 5)])
    #expect(session.openStreams == Int(limit))
  }

  @Test
  func `a stream above the limit ends the connection where the gateway is an older one`() throws {
    let session = session(limit: 1)
    session.endsAboveLimit = true
    var client = HandMadeClient()
    client.frame(4, 1, 0, [])
    for _ in 0..<2 { client.request(Self.fields, body: nil) }
    try receive(client.bytes, session)
    var output = ByteBuffer()
    _ = try session.produceOutput(into: &output, upTo: .max)
    let words = Array("Maximum active streams violated for this endpoint.".utf8)
    let last: [UInt8] = [0, 0, 0, 1]
    let goAway = frame(type: 7, flags: 0, stream: 0, last + [0, 0, 0, 7] + words)
    let bytes = Array(output.bytes)
    #expect((0...bytes.count - goAway.count).contains { bytes[$0...].starts(with: goAway) })
    #expect(session.isGoingAway && session.openStreams == 1)
  }

  /// h2spec 5.1/8 and 5.1/9: DATA or HEADERS after the client's own RST_STREAM; together, and apart.
  @Test(arguments: [0, 1] as [UInt8], [true, false])
  func `a frame after the client's reset gets STREAM_CLOSED`(type: UInt8, isTogether: Bool) throws {
    let session = session(limit: 10)
    var client = HandMadeClient()
    client.request(Self.fields, body: nil)
    // Before the reset DATA is in order.
    client.frame(0, 0, 1, [1])
    client.frame(3, 0, 1, [0, 0, 0, 8])
    let late = frame(
      type: type, flags: 5, stream: 1, type == 0 ? [1] : [0x82, 0x87, 0x84, 0x41, 1, 0x78])
    if isTogether {
      try receive(client.bytes + late, session)
    } else {
      try receive(client.bytes, session)
      #expect(try ends(frames(of: session)).isEmpty)
      try receive(late, session)
    }
    #expect(try ends(frames(of: session)) == [Frame(type: 3, stream: 1, code: 5)])
    #expect(session.openStreams == 0)
  }

  /// A client that sends header fields and body apart has some of it on the way. 2,200 frames are more than the limit of
  /// resets, and their bytes more than the connection's window.
  @Test(arguments: [0, 1] as [UInt8])
  func `what is on its way on streams that the server has reset is ignored`(type: UInt8) throws {
    let session = session(limit: 10)
    var client = HandMadeClient()
    client.request(Self.fields, body: nil)
    try receive(client.bytes, session)
    session.reset(1, code: 8)
    #expect(try ends(frames(of: session)) == [Frame(type: 3, stream: 1, code: 8)])
    let late = frame(
      type: type, flags: type == 0 ? 0 : 5, stream: 1,
      type == 0 ? [UInt8](repeating: 1, count: 60) : [0x82, 0x87, 0x84, 0x41, 1, 0x78])
    var sent: [Frame] = []
    for _ in 0..<2_200 {
      try receive(late, session)
      sent += try frames(of: session)
    }
    #expect(ends(sent).isEmpty && session.openStreams == 0)
    #expect(sent.contains { $0.type == 8 && $0.stream == 0 } == (type == 0))
  }

  @Test func `a client above the limit does not flood the connection with what is on its way`()
    throws
  {
    let session = session(limit: 1)
    var client = HandMadeClient()
    client.frame(4, 1, 0, [])
    for _ in 0...1_100 { client.request(Self.fields, body: nil) }
    try receive(client.bytes, session)
    _ = try frames(of: session)
    for number in 1...1_100 as ClosedRange<UInt32> {
      try receive(frame(type: 0, flags: 1, stream: 2 * number + 1, [1]), session)
    }
    #expect(try ends(frames(of: session)).count == 1_100)
    try receive(frame(type: 0, flags: 1, stream: 3, [1]), session)
    #expect(try ends(frames(of: session)).isEmpty)
    #expect(session.openStreams == 1)
  }

  /// h2spec 5.1/12: HEADERS on a stream that is answered and over (5.1/11 is DATA).
  @Test func `HEADERS on a stream that was answered get STREAM_CLOSED`() throws {
    let session = try answeredSession()
    try receive(frame(type: 1, flags: 5, stream: 1, [0x82, 0x87, 0x84, 0x41, 1, 0x78]), session)
    #expect(try ends(frames(of: session)) == [Frame(type: 3, stream: 1, code: 5)])
    #expect(session.openStreams == 0)
  }

  /// h2spec 5.1.1/2, which nghttpd does not refuse.
  @Test
  func `HEADERS on a stream that was passed over end the connection with PROTOCOL_ERROR`() throws {
    let session = session(limit: 10)
    let block: [UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 0x78]
    var client = HandMadeClient()
    client.request(Self.fields)
    try receive(client.bytes + frame(type: 1, flags: 5, stream: 7, block), session)
    #expect(ends(try frames(of: session)).isEmpty)
    try receive(frame(type: 1, flags: 5, stream: 5, block), session)
    #expect(ends(try frames(of: session)).contains { $0.type == 7 && $0.code == 1 })
  }

  @Test func `a client may begin with the last number that there is`() throws {
    let session = session(limit: 10)
    let block: [UInt8] = [0x82, 0x87, 0x84, 0x41, 1, 0x78]
    let last = frame(type: 1, flags: 5, stream: UInt32(Int32.max), block)
    try receive(HandMadeClient().bytes + last, session)
    #expect(ends(try frames(of: session)).isEmpty)
    #expect(session.lastStreamID == .max)
    try receive(frame(type: 1, flags: 5, stream: 1, block), session)
    #expect(ends(try frames(of: session)).contains { $0.type == 7 && $0.code == 1 })
  }

  @Test func `the client is told the limit that holds`() throws {
    let session = session(limit: 7)
    session.update(SettingsChange(maxConcurrentStreams: 1))
    var output = ByteBuffer()
    _ = try session.produceOutput(into: &output, upTo: .max)
    let bytes = Array(output.bytes)
    for limit in [7, 1] as [UInt8] {
      let entry: [UInt8] = [0, 3, 0, 0, 0, limit]
      #expect((0...bytes.count - 6).contains { Array(bytes[$0..<$0 + 6]) == entry }, "\(limit)")
    }
  }

  @Test func `frames on a stream that was answered get STREAM_CLOSED, and the connection goes on`()
    throws
  {
    let session = try answeredSession()
    #expect(session.openStreams == 0)
    for flags in [0, 1] as [UInt8] {
      try receive(frame(type: 0, flags: flags, stream: 1, Array("{}".utf8)), session)
      #expect(try ends(frames(of: session)) == [Frame(type: 3, stream: 1, code: 5)])
    }
  }
}
