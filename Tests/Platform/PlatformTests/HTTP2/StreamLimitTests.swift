// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewaySimulator
import HTTP2
import Testing

@Suite struct StreamLimitTests {
  @Test(arguments: HTTP2Implementation.allCases)
  func `before the server's settings there is one stream`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2)
    #expect(pair.client.remoteMaxConcurrentStreams == 1)
    #expect(pair.submit() != nil)
    #expect(pair.submit() == nil)
    try pair.settle()
    #expect(pair.client.drainNotices() == [.settings(maxConcurrentStreams: 100)])
    #expect(pair.submit() != nil)
  }

  @Test func `another limit repeats all other settings`() throws {
    let gateway = SessionSettings.gateway(maxConcurrentStreams: 1_000)
    let change = SettingsChange(maxConcurrentStreams: 1, repeating: gateway)
    var all = SettingsChange(
      maxConcurrentStreams: 1, headerTableSize: 4_096, initialWindowSize: 65_535,
      maxHeaderListSize: 8_000)
    all.maxFrameSize = 16_384
    #expect(change == all)
    let pair = SessionPair(.engine, gateway)
    try pair.settle()
    pair.server.update(change)
    var frame = ByteBuffer()
    _ = try pair.server.produceOutput(into: &frame, upTo: .max)
    #expect(frame.count == 9 + 5 * 6)
    try pair.client.receive(frame.bytes)
    #expect(pair.client.remoteMaxConcurrentStreams == 1)
    #expect(pair.submit() != nil)
    try pair.settle()
    #expect(pair.received.count == 1)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `the limit moves with the server's settings`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2, .gateway(maxConcurrentStreams: 1))
    try pair.settle()
    #expect(pair.submit() != nil)
    #expect(pair.submit() == nil)
    pair.server.update(SettingsChange(maxConcurrentStreams: 3))
    try pair.settle()
    #expect(pair.submit() != nil)
    #expect(pair.submit() != nil)
    #expect(pair.submit() == nil)
    try pair.settle()
    pair.server.update(SettingsChange(maxConcurrentStreams: 1))
    try pair.settle()
    #expect(pair.client.openStreams == 3)
    #expect(pair.client.remoteMaxConcurrentStreams == 1)
    // Open streams stay open; new ones wait until fewer than the limit are left.
    for left in [2, 1] {
      pair.answer()
      try pair.settle()
      #expect(pair.client.openStreams == left)
      #expect(pair.submit() == nil)
    }
    pair.answer()
    try pair.settle()
    #expect(pair.submit() != nil)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `streams that cross a lowered limit come back unprocessed`(_ http2: HTTP2Implementation)
    throws
  {
    let pair = SessionPair(http2, .gateway(maxConcurrentStreams: 3))
    try pair.settle()
    let exchanges = try (0..<3).map { _ in try #require(pair.submit()) }
    pair.server.update(SettingsChange(maxConcurrentStreams: 1))
    try pair.settle()
    #expect(exchanges.map(\.pointee.fate) == [.pending, .unprocessed, .unprocessed])
    pair.answer()
    try pair.settle()
    #expect(exchanges[0].pointee.fate == .answered)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `a limit of zero stops everything`(_ http2: HTTP2Implementation) throws {
    let pair = SessionPair(http2, .gateway(maxConcurrentStreams: 0))
    try pair.settle()
    #expect(pair.submit() == nil)
  }

  @Test(arguments: HTTP2Implementation.allCases)
  func `requests queued when the limit drops go out later or are unprocessed`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2, .gateway(maxConcurrentStreams: 5))
    try pair.settle()
    pair.server.update(SettingsChange(maxConcurrentStreams: 1))
    // Submitted under the old limit, not yet written when the new one arrives.
    let exchanges = try (0..<3).map { _ in try #require(pair.submit()) }
    let settings = frame(type: 4, [0, 3] + bigEndian(1))
    try settings.withUnsafeBytes { try pair.client.receive($0) }
    try pair.loseClientOutput()
    pair.client.abandon()
    pair.collect()
    #expect(Set(pair.completed) == Set(exchanges))
    #expect(exchanges.map(\.pointee.fate) == [.ambiguous, .unprocessed, .unprocessed])
  }

  /// Stream ids are used once and end at 2³¹ − 1 (RFC 9113 §5.1.1).
  @Test(arguments: HTTP2Implementation.allCases)
  func `when the stream ids are used up a submit is refused and the others end`(
    _ http2: HTTP2Implementation
  ) throws {
    let pair = SessionPair(http2, firstStreamID: Int32.max - 2)
    try pair.settle()
    let last = [try #require(pair.submit()), try #require(pair.submit())]
    #expect(last.map(\.pointee.streamID) == [Int32.max - 2, Int32.max])
    #expect(pair.submit() == nil, "no id is left")
    try pair.settle()
    pair.answer()
    pair.answer()
    try pair.settle()
    #expect(pair.completed == last)
    #expect(last.allSatisfy { $0.pointee.fate == .answered })
  }
}
