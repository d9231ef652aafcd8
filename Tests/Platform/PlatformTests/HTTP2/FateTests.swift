// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import Testing

/// What becomes of requests when streams and connections break: what may be sent again.
@Suite struct FateTests {
  @Test(arguments: HTTP2Implementation.allCases)
  func `a refused stream was not processed`(_ http2: HTTP2Implementation) throws {
    let (pair, exchange) = try pairWithOneRequest(http2)
    pair.server.reset(exchange.pointee.streamID, code: HTTP2ErrorCode.refusedStream)
    try pair.settle()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .unprocessed)
    #expect(exchange.pointee.closeCode == HTTP2ErrorCode.refusedStream)
  }

  @Test(
    arguments: HTTP2Implementation.allCases,
    [
      HTTP2ErrorCode.internalError, HTTP2ErrorCode.cancel, HTTP2ErrorCode.enhanceYourCalm,
      HTTP2ErrorCode.noError,
    ])
  func `a stream reset with another code is ambiguous`(_ http2: HTTP2Implementation, code: UInt32)
    throws
  {
    let (pair, exchange) = try pairWithOneRequest(http2)
    pair.server.reset(exchange.pointee.streamID, code: code)
    try pair.settle()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .ambiguous)
    #expect(exchange.pointee.closeCode == code)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a status is final even if its body is lost`(_ http2: HTTP2Implementation) throws {
    let (pair, exchange) = try pairWithOneRequest(http2)
    // HEADERS with ":status: 200" (static table entry 8), then the connection dies.
    let headers = frame(type: 1, flags: 4, stream: 1, [0x88])
    try headers.withUnsafeBytes { try pair.client.receive($0) }
    pair.client.abandon()
    pair.collect()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .answered)
    #expect(exchange.pointee.status == 200)
    #expect(!exchange.pointee.ended)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `streams above the last of a GOAWAY are unprocessed and the others go on`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    let exchanges = try (0..<4).map { _ in try #require(pair.submit()) }
    try pair.settle()
    _ = pair.client.drainNotices()
    let debug = Array("{\"reason\":\"Shutdown\"}".utf8)
    pair.server.sendGoAway(lastStreamID: 3, code: 0, debug: debug)
    try pair.settle()
    #expect(pair.client.drainNotices() == [.goAway(lastStreamID: 3, code: 0, debug: debug)])
    #expect(Set(pair.completed) == Set(exchanges[2...]))
    #expect(exchanges.map(\.pointee.fate) == [.pending, .pending, .unprocessed, .unprocessed])
    #expect(pair.submit() == nil)
    pair.answer("200")
    pair.answer("200")
    try pair.settle()
    #expect(exchanges[..<2].allSatisfy { $0.pointee.fate == .answered })
    #expect(pair.completed.count == 4)
    #expect(pair.client.isFinished)
  }

  /// The first GOAWAY of a graceful end names no last stream yet (RFC 9113 §6.8), so nothing but the fact that
  /// they were never written shows that the queued ones were not processed.
  @Test(arguments: HTTP2Implementation.allCases)
  func `requests still queued when GOAWAY arrives were not processed`(_ http2: HTTP2Implementation)
    throws
  {
    let pair = SessionPair(http2)
    try pair.settle()
    let written = try #require(pair.submit())
    try pair.settle()
    let queued = try (0..<3).map { _ in try #require(pair.submit()) }
    let goAway = frame(type: 7, bigEndian(0x7FFF_FFFF) + bigEndian(0))
    try goAway.withUnsafeBytes { try pair.client.receive($0) }
    try pair.settle()
    #expect(pair.received.count == 1)
    #expect(queued.map(\.pointee.fate) == [.unprocessed, .unprocessed, .unprocessed])
    #expect(Set(pair.completed) == Set(queued))
    pair.answer("200")
    try pair.settle()
    #expect(written.pointee.fate == .answered)
  }

  @Test(arguments: HTTP2Implementation.allCases, [1, 4, 9, 20, 1_000])
  func `a GOAWAY before SETTINGS is processed`(_ http2: HTTP2Implementation, piece: Int) throws {
    let pair = SessionPair(http2)
    let exchange = try #require(pair.submit())
    try pair.loseClientOutput()
    let text = Array("{\"reason\":\"BadCertificateEnvironment\"}".utf8)
    let goAway = frame(type: 7, bigEndian(0) + bigEndian(0) + text)
    for start in stride(from: 0, to: goAway.count, by: piece) {
      #expect(pair.client.drainNotices().isEmpty)
      try goAway[start..<min(start + piece, goAway.count)].withUnsafeBytes {
        try pair.client.receive($0)
      }
    }
    #expect(pair.client.drainNotices() == [.goAway(lastStreamID: 0, code: 0, debug: text)])
    #expect(pair.client.isGoingAway)
    #expect(pair.client.isFinished)
    pair.collect()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .unprocessed)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `GOAWAY may come twice and say anything`(_ http2: HTTP2Implementation) throws {
    let (pair, exchange) = try pairWithOneRequest(http2)
    _ = pair.client.drainNotices()
    let garbage = [UInt8](repeating: 0xFF, count: 1_000)
    for last in [UInt32(0x7FFF_FFFF), 1] {
      let goAway = frame(type: 7, bigEndian(last) + bigEndian(11) + garbage)
      try goAway.withUnsafeBytes { try pair.client.receive($0) }
    }
    #expect(
      pair.client.drainNotices() == [
        .goAway(lastStreamID: 0x7FFF_FFFF, code: 11, debug: Array(garbage.prefix(256))),
        .goAway(lastStreamID: 1, code: 11, debug: Array(garbage.prefix(256))),
      ])
    #expect(exchange.pointee.fate == .pending)
    pair.client.abandon()
    pair.collect()
    #expect(pair.completed == [exchange])
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a dying connection completes each exchange once`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    let exchanges = try (0..<10).map { _ in try #require(pair.submit()) }
    try pair.settle()
    pair.answer("200")
    pair.server.reset(exchanges[1].pointee.streamID, code: HTTP2ErrorCode.refusedStream)
    try pair.settle()
    let unwritten = try #require(pair.submit())
    pair.client.abandon()
    pair.client.abandon()
    pair.collect()
    #expect(pair.completed.count == 11)
    #expect(Set(pair.completed) == Set(exchanges + [unwritten]))
    #expect(exchanges[0].pointee.fate == .answered)
    #expect(exchanges[1].pointee.fate == .unprocessed)
    #expect(exchanges[2...].allSatisfy { $0.pointee.fate == .ambiguous })
    #expect(unwritten.pointee.fate == .unprocessed)
    #expect(pair.client.openStreams == 0)
    #expect(pair.submit() == nil)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a request given up before it was written completes once`(_ http2: HTTP2Implementation)
    throws
  {
    let pair = SessionPair(http2)
    try pair.settle()
    let exchange = try #require(pair.submit())
    pair.client.reset(exchange, code: HTTP2ErrorCode.cancel)
    pair.client.reset(exchange, code: HTTP2ErrorCode.cancel)
    try pair.settle()
    pair.client.abandon()
    pair.collect()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .unprocessed)
    #expect(pair.received.isEmpty)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `an answer to a reset stream is ignored and the request goes back`(
    _ http2: HTTP2Implementation
  ) throws {
    let (pair, exchange) = try pairWithOneRequest(http2)
    pair.client.reset(exchange, code: HTTP2ErrorCode.cancel)
    try pair.settle()
    #expect(exchange.pointee.fate == .ambiguous)
    let request = try #require(pair.received.first)
    #expect(!request.pointee.isAlive)
    let headers = HeaderList()
    HTTP2ServerConnection.respond(
      request, headers, body: UnsafeRawBufferPointer(start: nil, count: 0), pool: pair.pool)
    #expect(pair.pool.take() == request)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a server that breaks the protocol ends the session`(_ http2: HTTP2Implementation) throws {
    let (pair, exchange) = try pairWithOneRequest(http2)
    // DATA on a stream that nobody opened.
    let data = frame(type: 0, flags: 1, stream: 77, [1, 2, 3])
    try data.withUnsafeBytes { try pair.client.receive($0) }
    try pair.loseClientOutput()
    #expect(pair.client.isFinished)
    pair.client.abandon()
    pair.collect()
    #expect(pair.completed == [exchange])
    #expect(exchange.pointee.fate == .ambiguous)
  }

  /// Its end is a failure also when nothing was open, so that the owner reports it and waits before the next one.
  @Test(arguments: HTTP2Implementation.allCases)
  func `a connection that fails does not GOAWAY in good order`(_ http2: HTTP2Implementation) throws
  {
    let pair = SessionPair(http2)
    try pair.settle()
    let data = frame(type: 0, flags: 1, stream: 77, [1, 2, 3])
    try data.withUnsafeBytes { try pair.client.receive($0) }
    try pair.loseClientOutput()
    #expect(pair.client.isFinished)
    #expect(!pair.client.isGoingAway)
  }

  private func pairWithOneRequest(_ http2: HTTP2Implementation) throws -> (
    SessionPair, UnsafeMutablePointer<Exchange>
  ) {
    let pair = SessionPair(http2)
    try pair.settle()
    let exchange = try #require(pair.submit())
    try pair.settle()
    return (pair, exchange)
  }
}
