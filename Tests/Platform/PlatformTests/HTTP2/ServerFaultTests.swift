// SPDX-License-Identifier: Apache-2.0
import GatewaySimulator
import HTTP2
import Testing

/// What the server side can do wrong on purpose, and what our client makes of it. Further faults are those of the
/// simulator, in `GatewaySimulatorTests`.
@Suite struct ServerFaultTests {
  private func pairWithRequests(_ http2: HTTP2Implementation, _ count: Int) throws -> (
    SessionPair, [UnsafeMutablePointer<Exchange>]
  ) {
    let pair = SessionPair(http2)
    try pair.settle()
    let exchanges = try (0..<count).map { _ in try #require(pair.submit()) }
    try pair.settle()
    _ = pair.client.drainNotices()
    return (pair, exchanges)
  }

  @Test(
    arguments: HTTP2Implementation.allCases,
    [
      AnswerShape.manyDataFrames, .continuation, .padding, .trailers, .informational,
      [.manyDataFrames, .continuation, .padding, .trailers, .informational],
    ])
  func `an answer in an unusual form is the same answer`(
    _ http2: HTTP2Implementation, shape: AnswerShape
  ) throws {
    let (pair, exchanges) = try pairWithRequests(http2, 3)
    for (status, body) in [("410", "{\"reason\":\"Unregistered\"}"), ("200", ""), ("400", "x")] {
      pair.server.shape(pair.received[0], shape)
      switch status {
      case "410": pair.answer("410", body: body, more: [("retry-after", "7")])
      case "200": pair.answer("200", body: body)
      default: pair.answer("400", body: body)
      }
    }
    try pair.settle()
    #expect(pair.completed.count == 3)
    #expect(exchanges.map(\.pointee.status) == [410, 200, 400])
    #expect(exchanges.map(\.answer) == ["{\"reason\":\"Unregistered\"}", "", "x"])
    #expect(exchanges[0].pointee.retryAfter(now: 0) == 7)
    #expect(exchanges.allSatisfy { $0.pointee.fate == .answered && $0.pointee.ended })
    #expect(pair.server.openStreams == 0)
    // The form was for one answer only, and the connection is none the worse.
    let next = try #require(pair.submit())
    try pair.settle()
    pair.answer("200")
    try pair.settle()
    #expect(next.pointee.status == 200)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `the shapes are on the wire`(_ http2: HTTP2Implementation) throws {
    let (pair, _) = try pairWithRequests(http2, 1)
    pair.server.shape(
      pair.received[0], [.manyDataFrames, .continuation, .padding, .trailers, .informational])
    pair.answer("400", body: "{}", more: [("apns-id", "one")])
    let frames = try pair.serverFrames()
    // Three header blocks in two frames each (103, 400, trailers), and a DATA frame a byte.
    #expect(frames.map(\.type) == [1, 9, 1, 9, 0, 0, 1, 9])
    // END_STREAM stands on the trailers alone, END_HEADERS on the last frame of each block.
    #expect(frames.map { $0.type == 9 ? 0 : $0.flags & 1 } == [0, 0, 0, 0, 0, 0, 1, 0])
    #expect(frames.map { $0.type == 0 ? 0 : $0.flags & 4 } == [0, 4, 0, 4, 0, 0, 0, 4])
    #expect(frames.map { $0.flags & 8 } == [8, 0, 8, 0, 8, 8, 8, 0])
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `what was queued before a raw frame goes out before it`(
    _ http2: HTTP2Implementation
  ) throws {
    let (pair, exchanges) = try pairWithRequests(http2, 1)
    pair.answer("200")
    pair.server.sendRawGoAway(lastStreamID: 0, code: 0, debug: [])
    pair.server.mute(.everything)
    pair.server.update(SettingsChange(maxConcurrentStreams: 9))
    let frames = try pair.serverFrames()
    #expect(frames.map(\.type) == [1, 7])
    #expect(exchanges.count == 1)
  }

  /// The error code of the GOAWAY that a client is sent off with.
  private func farewellCode(_ pair: SessionPair) throws -> UInt32 {
    let frame = try #require(pair.server.farewell)
    try #require(frame.count >= 17)
    #expect(frame[3] == 7, "GOAWAY")
    return frame[13..<17].reduce(0) { $0 << 8 | UInt32($1) }
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `streams that are reset more often than answered end with ENHANCE_YOUR_CALM`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    func reset(_ count: Int) throws {
      for _ in 0..<count / 50 {
        let exchanges = try (0..<50).map { _ in try #require(pair.submit()) }
        try pair.settle()
        for exchange in exchanges { pair.client.reset(exchange, code: HTTP2ErrorCode.cancel) }
        pair.received = []
        try pair.settle()
      }
    }
    try reset(700)
    for _ in 0..<500 {
      _ = try #require(pair.submit())
      try pair.settle()
      pair.answer()
      try pair.settle()
    }
    // 200 are left of the 700; without the answers this would be too many.
    try reset(800)
    #expect(pair.server.farewell == nil)
    #expect(throws: ConnectionFailure.self) { try reset(50) }
    #expect(try farewellCode(pair) == HTTP2ErrorCode.enhanceYourCalm)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `pings faster than their answers are read end with ENHANCE_YOUR_CALM`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2)
    try pair.settle()
    for _ in 0..<900 { pair.client.ping() }
    try pair.settle()
    #expect(pair.server.farewell == nil)
    for _ in 0..<1_100 { pair.client.ping() }
    #expect(throws: ConnectionFailure.self) { try pair.settle() }
    #expect(try farewellCode(pair) == HTTP2ErrorCode.enhanceYourCalm)
  }
}
