// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP

/// What a server does against RFC 9113, with `FrameReader`.
@Suite struct MisbehaviourTests {
  @Test(arguments: Misbehaviour.frames + Misbehaviour.messages, [Int.max, 1])
  func
    `what a server does wrong ends the stream or the connection with the error of the RFC, and nothing else`(
      _ misbehaviour: Misbehaviour, piece: Int
    )
  {
    let wire = Wire()
    #expect(wire.sent() == 1)
    #expect(wire.sent() == 3)
    _ = wire.frames()
    let events = wire.feed(misbehaviour.bytes, pieces: piece)
    let closed = events.compactMap { if case .closed(let stream) = $0 { stream } else { nil } }
    switch misbehaviour.end {
    case .connection(let code):
      #expect(wire.failure?.code == code)
      #expect(closed.isEmpty)
      #expect(wire.goAwayCode == code.rawValue)
      #expect(wire.isFinished)
      #expect(wire.feed(frame(.headers, flags: 5, stream: 3, [0x88])).isEmpty)
      #expect(wire.engine.abandoned() != nil)
    case .stream(let code):
      #expect(wire.failure == nil)
      #expect(closed.map(\.code) == [code.rawValue])
      #expect(
        wire.frames() == [
          WrittenFrame(type: .resetStream, stream: 1, payload: bigEndian(code.rawValue))
        ])
      #expect(wire.feed(frame(.headers, flags: 5, stream: 3, [0x88])).count == 1)
    case .nothing:
      #expect(wire.failure == nil)
      #expect(closed.isEmpty)
      #expect(!wire.frames().contains { $0.type == .goAway || $0.type == .resetStream })
      let answer = wire.feed(frame(.headers, flags: 5, stream: 3, [0x88]))
      #expect(answer == [.head(token: 2, isComplete: true)])
    }
  }

  @Test(arguments: [FrameType.ping, .windowUpdate, .headers, .data])
  func `a first frame that is neither SETTINGS nor GOAWAY`(_ type: FrameType) {
    let wire = Wire(isReady: false)
    _ = wire.feed(frame(type, bigEndian(1) + bigEndian(1)))
    #expect(wire.failure?.code == .protocolError)
  }

  @Test(arguments: [Int.max, 1])
  func `a server that answers in HTTP/1.1 is said to`(piece: Int) {
    let wire = Wire(isReady: false)
    _ = wire.feed(Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), pieces: piece)
    #expect(
      wire.failure == ConnectionError(.protocolError, "the peer answers in HTTP/1.1"))
  }

  @Test func `an acknowledgement is no first frame`() {
    let wire = Wire(isReady: false)
    _ = wire.feed(frame(.settings, flags: 1))
    #expect(wire.failure?.code == .protocolError)
  }

  @Test(arguments: [
    frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]), frame(.settings), frame(.settings, flags: 1),
    frame(.priority, stream: 1, [0, 0, 0, 0, 1]), rawFrame(99),
    frame(.headers, flags: 4, stream: 3, [8, 3, 0x31, 0x30, 0x33]),
    frame(.data, stream: 1), frame(.resetStream, stream: 5, bigEndian(8)),
    frame(.windowUpdate, stream: 5, bigEndian(1)),
    frame(.goAway, bigEndian(0x7FFF_FFFF) + bigEndian(0)),
  ])
  func
    `floods of frames that move nothing end with ENHANCE_YOUR_CALM, and no sooner than they are floods`(
      _ bytes: [UInt8]
    )
  {
    let wire = Wire()
    _ = (wire.sent(), wire.sent(), wire.sent())
    _ = wire.feed(frame(.headers, flags: 4, stream: 1, [0x88]))
    _ = wire.feed(frame(.headers, flags: 5, stream: 5, [0x88]))
    for _ in 0..<500 { _ = wire.feed(bytes) }
    #expect(wire.failure == nil)
    for _ in 0..<(NoiseBudget.burst) { _ = wire.feed(bytes) }
    #expect(wire.failure?.code == .enhanceYourCalm)
    #expect(wire.control.count < 100_000)
  }

  @Test func `a server that resets every request is left, and one that also answers is not`() {
    func resets(_ count: Int, answering: Int) -> Wire {
      let wire = Wire()
      for number in 1...count {
        let end =
          number % answering == 0
          ? frame(.headers, flags: 5, stream: wire.sent(), [0x88])
          : frame(.resetStream, stream: wire.sent(), bigEndian(7))
        _ = wire.feed(end)
        _ = wire.frames()
        if wire.failure != nil { break }
      }
      return wire
    }
    #expect(resets(3_000, answering: .max).failure?.code == .enhanceYourCalm)
    #expect(resets(10_000, answering: 4).failure == nil)
  }

  @Test func `the frames of answers to requests that were given up are no flood`() {
    let wire = Wire(limit: 3_000)
    let ids = (0..<3_000).map { _ in wire.open() ?? 0 }
    wire.flush()
    for id in ids { _ = wire.engine.reset(id, code: 8) }
    for id in ids {
      _ = wire.feed(
        frame(.headers, flags: 4, stream: id, [0x8C]) + frame(.data, flags: 1, stream: id, [1]))
    }
    #expect(wire.failure == nil)
  }

  @Test func `a server that does not acknowledge SETTINGS is left after ten seconds`() {
    let wire = Wire(isReady: false)
    _ = wire.feed(frame(.settings, [0, 3] + bigEndian(100)))
    _ = wire.sent()
    let ping = frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8])
    wire.now += 9_999
    _ = wire.feed(ping)
    #expect(wire.failure == nil)
    wire.now += 1
    // Late is not never.
    let late = Wire(isReady: false)
    _ = late.feed(frame(.settings))
    late.now = wire.now
    _ = late.feed(frame(.settings, flags: 1))
    late.now += 100_000
    _ = late.feed(ping)
    #expect(late.failure == nil)
    _ = wire.feed(ping)
    #expect(wire.failure?.code == .settingsTimeout)
    #expect(wire.goAwayCode == ErrorCode.settingsTimeout.rawValue)
  }

  @Test func `the same frames spread over time are no flood`() {
    let wire = Wire()
    for _ in 0..<20_000 {
      wire.now += 1_000 / UInt64(NoiseBudget.perSecond)
      _ = wire.feed(frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
      wire.flush()
    }
    #expect(wire.failure == nil)
  }

  @Test(arguments: [0, 1, 4_000])
  func `a header block in more CONTINUATION frames than any answer needs`(_ size: Int) {
    let wire = Wire()
    let id = wire.sent()
    _ = wire.feed(frame(.headers, flags: 1, stream: id, [0x88]))
    for _ in 0..<20 {
      _ = wire.feed(frame(.continuation, stream: id, [UInt8](repeating: 0, count: size)))
    }
    #expect(wire.failure?.code == .enhanceYourCalm)
  }

  @Test func `an answer with more fields than announced`() {
    let wire = Wire()
    let id = wire.sent()
    let fields = (0..<70).flatMap { _ in field("a", String(repeating: "b", count: 120)) }
    var block = [UInt8]()
    for _ in 0..<8 { block += fields }
    _ = wire.feed(frame(.headers, flags: 1, stream: id, [0x88]))
    for start in stride(from: 0, to: block.count, by: 16_000) {
      let part = Array(block[start..<min(start + 16_000, block.count)])
      _ = wire.feed(
        frame(.continuation, flags: start + 16_000 >= block.count ? 4 : 0, stream: id, part))
    }
    #expect(wire.failure?.code == .enhanceYourCalm)
  }
}
