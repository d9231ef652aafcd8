// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP

/// The engine as a whole, with its parts `HeaderBlock`, `StreamTable` and `OutstandingPings`.
@Suite struct ClientEngineTests {
  private let apnsID = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"

  /// A server's side of a connection with every kind of frame in it.
  private var conversation: [UInt8] {
    let dynamic: [UInt8] = [0x88]
    return frame(.settings, [0, 3] + bigEndian(100)) + frame(.settings, flags: 1)
      + frame(.headers, flags: 5, stream: 1, dynamic + field("apns-id", apnsID))
      + frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8])
      + frame(.headers, flags: 4, stream: 3, field(":status", "103"))
      + frame(
        .headers, flags: 0x2C, stream: 3, [2, 0, 0, 0, 0, 9] + field(":status", "410") + [0, 0])
      + frame(.data, flags: 8, stream: 3, [1] + Array("{\"reason\":".utf8) + [0])
      + frame(.windowUpdate, bigEndian(1_000)) + rawFrame(0xFA, [1, 2, 3])
      + frame(.data, stream: 3, Array("\"Unregistered\"}".utf8))
      + frame(.headers, stream: 3 + 2, field(":status", "400"))
      + frame(.continuation, stream: 5, field("retry-after", "7"))
      + frame(.continuation, flags: 4, stream: 5, field("apns-unique-id", apnsID))
      + frame(.data, flags: 1, stream: 5, Array("{}".utf8))
      + frame(.headers, flags: 5, stream: 3, field("trailer", "x"))
      + frame(.resetStream, stream: 7, bigEndian(7)) + frame(.settings, [0, 3] + bigEndian(1))
      + frame(.goAway, bigEndian(9) + bigEndian(0) + Array("bye".utf8))
      + frame(.headers, flags: 5, stream: 9, [0x88])
  }

  private func answeredAhead(_ wire: Wire, _ bytes: [UInt8]) -> [UInt] {
    var position = 0
    var tokens: [UInt] = []
    while let token = wire.engine.nextAnswered(in: bytes.span, at: &position) {
      tokens.append(token)
    }
    return tokens
  }

  @Test func `looking ahead names the open requests that some bytes answer, and takes nothing`() {
    let wire = Wire()
    for _ in 0..<6 { _ = wire.sent() }
    // Heads of streams 1, 3 (twice), 5, 3 and 9; requests have the numbers 1 to 6.
    #expect(answeredAhead(wire, conversation) == [1, 2, 2, 3, 2, 5])
    #expect(answeredAhead(wire, conversation) == [1, 2, 2, 3, 2, 5])
    _ = wire.feed(frame(.headers, flags: 5, stream: 3, [0x88]))
    #expect(answeredAhead(wire, conversation) == [1, 3, 5])
    // From anywhere in the middle of a frame, too, and with an end anywhere.
    for start in conversation.indices {
      for end in start...conversation.count {
        #expect(answeredAhead(wire, Array(conversation[start..<end])).allSatisfy { $0 <= 6 })
      }
    }
  }

  private func converse(_ piece: Int) -> [String] {
    let wire = Wire()
    for _ in 0..<6 { _ = wire.sent() }
    let bytes = conversation
    var heard: [String] = []
    for start in stride(from: 0, to: bytes.count, by: piece) {
      let part = Array(bytes[start..<min(bytes.count, start + piece)])
      var position = 0
      while let event = wire.engine.next(in: part.span, at: &position, now: 1) {
        var text = "\(event)"
        switch event {
        case .head: text += " \(wire.head.status) \(wire.head.retryAfter)"
        case .body, .goAway: text += " \(String(decoding: wire.body, as: UTF8.self))"
        default: break
        }
        heard.append(text)
      }
    }
    return heard
  }

  @Test func `bytes split anywhere say the same`() {
    let whole = converse(.max)
    #expect(whole.count == 14)
    for piece in 1...64 { #expect(converse(piece) == whole) }
  }

  @Test func `bytes split in two at every place say the same`() {
    let whole = converse(.max)
    for place in 1..<conversation.count {
      let wire = Wire()
      for _ in 0..<6 { _ = wire.sent() }
      let events =
        wire.feed(Array(conversation[..<place])) + wire.feed(Array(conversation[place...]))
      #expect(events.count == whole.count)
    }
  }

  @Test func `a connection begins with the preface and SETTINGS, and acknowledges the server's`() {
    let wire = Wire(isReady: false)
    #expect(wire.peer.maxConcurrentStreams == 1)
    _ = wire.open()
    wire.flush()
    #expect(wire.output.starts(with: Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)))
    let frames = wire.frames()
    #expect(frames.map(\.type) == [.settings, .headers, .data])
    // No table, no push.
    #expect(frames[0].payload.starts(with: [0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0]))
    let events = wire.feed(frame(.settings, [0, 3] + bigEndian(7)))
    #expect(events == [.settings(maxConcurrentStreams: 7)])
    #expect(wire.frames() == [WrittenFrame(type: .settings, flags: 1)])
  }

  @Test
  func `SETTINGS without a limit of streams set none, and later ones without it leave it as it is`()
  {
    let wire = Wire(isReady: false)
    #expect(wire.open() != nil)
    #expect(wire.open() == nil)
    // A setting that nobody knows.
    #expect(
      wire.feed(frame(.settings, [0, 0] + bigEndian(196_608)))
        == [.settings(maxConcurrentStreams: .max)])
    for _ in 0..<1_000 { #expect(wire.open() != nil) }
    _ = wire.feed(frame(.settings, [0, 3] + bigEndian(2)) + frame(.settings))
    #expect(wire.peer.maxConcurrentStreams == 2)
  }

  @Test func `a PING is answered with its bytes`() {
    let wire = Wire()
    _ = wire.feed(frame(.ping, [8, 7, 6, 5, 4, 3, 2, 1]))
    #expect(
      wire.frames() == [WrittenFrame(type: .ping, flags: 1, payload: [8, 7, 6, 5, 4, 3, 2, 1])])
    wire.engine.ping(0x0102_0304_0506_0708)
    let frames = wire.frames()
    #expect(frames == [WrittenFrame(type: .ping, payload: [1, 2, 3, 4, 5, 6, 7, 8])])
    let events = wire.feed(frame(.ping, flags: 1, frames[0].payload))
    #expect(events == [.pong(0x0102_0304_0506_0708)])
    // Only once, and only what was sent.
    #expect(wire.feed(frame(.ping, flags: 1, frames[0].payload)).isEmpty)
    wire.engine.ping(1)
    wire.engine.ping(2)
    wire.engine.ping(3)
    #expect(wire.feed(frame(.ping, flags: 1, bigEndian(0) + bigEndian(4))).isEmpty)
    for ping: UInt32 in 1...3 {
      let answer = frame(.ping, flags: 1, bigEndian(0) + bigEndian(ping))
      #expect(wire.feed(answer) == [.pong(UInt64(ping))])
    }
  }

  @Test func `a table that SETTINGS made smaller in passing is announced so`() {
    let wire = Wire()
    _ = wire.sent()
    _ = wire.frames()
    let size: [UInt8] = [0, 1]
    _ = wire.feed(frame(.settings, size + bigEndian(0) + size + bigEndian(4_096)))
    _ = wire.sent()
    let block = wire.frames().first { $0.type == .headers }?.payload ?? []
    // To 0, and then to 4,096 (RFC 7541 §4.2).
    #expect(block.starts(with: [0x20, 0x3F, 0xE1, 0x1F]))
    _ = wire.sent()
    #expect(wire.frames().first { $0.type == .headers }?.payload.first.map { $0 & 0xE0 } != 0x20)
  }

  @Test func `streams take slots by their ids, and an older one that is still open keeps its own`()
  {
    let wire = Wire(limit: 4)
    let old = wire.sent()
    var seen: Set<UInt32> = [old]
    for round in 0..<500 {
      let id = wire.sent()
      #expect(seen.insert(id).inserted)
      #expect(id & 1 == 1)
      let events = wire.feed(frame(.headers, flags: 5, stream: id, [0x88]))
      #expect(events == [.head(token: UInt(round + 2), isComplete: true)])
    }
    #expect(wire.openStreams == 1)
    #expect(
      wire.feed(frame(.headers, flags: 5, stream: old, [0x88])) == [
        .head(token: 1, isComplete: true)
      ])
  }

  @Test func `the table grows with the streams that are open`() {
    let wire = Wire(limit: 3_000)
    let ids = (0..<3_000).map { _ in wire.open() ?? 0 }
    #expect(wire.open() == nil)
    wire.flush()
    #expect(Set(ids).count == 3_000)
    for (index, id) in ids.enumerated().reversed() {
      let events = wire.feed(frame(.headers, flags: 5, stream: id, [0x88]))
      #expect(events == [.head(token: UInt(index + 1), isComplete: true)])
    }
    #expect(wire.openStreams == 0)
  }

  @Test func `when the ids are used up there are no more requests`() {
    var settings = LocalSettings()
    settings.firstStreamID = 0x7FFF_FFFD
    let wire = Wire(settings)
    #expect(wire.open() == 0x7FFF_FFFD)
    #expect(wire.open() == 0x7FFF_FFFF)
    #expect(wire.open() == nil)
    wire.flush()
    #expect(wire.feed(frame(.headers, flags: 5, stream: 0x7FFF_FFFF, [0x88])).count == 1)
    #expect(wire.open() == nil)
  }

  @Test func `answers are decoded with the server's table until it says that there is none`() {
    let wire = Wire(isReady: false)
    _ = wire.feed(frame(.settings, [0, 3] + bigEndian(10)))
    let ids = (0..<3).map { _ in wire.sent() }
    // "apns-unique-id" enters the table, and is an index then.
    let literal: [UInt8] = [0x88, 0x40] + field("apns-unique-id", apnsID).dropFirst()
    _ = wire.feed(frame(.headers, flags: 5, stream: ids[0], literal))
    #expect(wire.head.hasUniqueID)
    _ = wire.feed(frame(.headers, flags: 5, stream: ids[1], [0x88, 0xBE]))
    #expect(wire.head.hasUniqueID)
    _ = wire.feed(frame(.settings, flags: 1))
    // Without a word about its table the server goes on with it.
    _ = wire.feed(frame(.headers, flags: 5, stream: ids[2], [0x88, 0xBE]))
    #expect(wire.head.hasUniqueID)
    _ = wire.feed(frame(.headers, flags: 5, stream: wire.sent(), [0x20, 0x88]))
    #expect(wire.failure == nil)
    _ = wire.feed(frame(.headers, flags: 5, stream: wire.sent(), [0x88, 0xBE]))
    #expect(wire.failure?.code == .compressionError)
  }
}
