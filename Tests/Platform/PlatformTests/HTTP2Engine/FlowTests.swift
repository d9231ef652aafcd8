// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import HTTP

/// Flow control both ways (RFC 9113 §5.2, §6.9), limits of streams, and what becomes of requests.
@Suite struct FlowTests {
  private func setting(_ id: UInt8, _ value: UInt32) -> [UInt8] {
    frame(.settings, [0, id] + bigEndian(value))
  }

  private func dataCounts(_ wire: Wire) -> [Int] {
    wire.frames().filter { $0.type == .data }.map(\.payload.count)
  }

  private func fates(_ events: [ClientEvent]) -> [[Int]] {
    events.compactMap { event in
      guard case .closed(let stream) = event else { return nil }
      return [Int(stream.token), stream.isUnprocessed ? 1 : 0, Int(stream.code)]
    }
  }

  @Test func `a body goes out in the order of windows, frames and updates`() {
    let wire = Wire()
    _ = wire.feed(setting(4, 1_000))
    let id = wire.open(body: [UInt8](repeating: 7, count: 40_000)) ?? 0
    #expect(dataCounts(wire) == [1_000])
    _ = wire.feed(frame(.windowUpdate, stream: id, bigEndian(500)))
    #expect(dataCounts(wire) == [500])
    // SETTINGS change the windows of open streams, also below zero.
    _ = wire.feed(setting(4, 100))
    _ = wire.feed(frame(.windowUpdate, stream: id, bigEndian(900)))
    #expect(dataCounts(wire) == [])
    _ = wire.feed(setting(4, 30_000))
    #expect(dataCounts(wire) == [16_384, 13_516])
    _ = wire.feed(frame(.windowUpdate, stream: id, bigEndian(1 << 20)))
    let last = wire.frames().filter { $0.type == .data }
    #expect(last.map(\.payload.count) == [8_600])
    #expect(last.map(\.flags) == [1])
    #expect(wire.blocked.isEmpty)
  }

  @Test
  func
    `a request waits unwritten while the connection's window is shut, and one that waits is not in doubt`()
  {
    let wire = Wire()
    _ = wire.feed(setting(4, 1 << 20))
    _ = wire.open(body: [UInt8](repeating: 1, count: 65_535))
    _ = wire.open()
    let frames = wire.frames()
    #expect(frames.filter { $0.type == .headers }.map(\.stream) == [1])
    #expect(wire.sendWindow == 0)
    #expect(wire.engine.reset(3, code: 8)?.isUnprocessed == true)
    #expect(wire.frames().isEmpty)
    let later = wire.open() ?? 0
    _ = wire.feed(frame(.windowUpdate, bigEndian(1)))
    #expect(wire.frames().isEmpty)
    _ = wire.feed(frame(.windowUpdate, bigEndian(1)))
    #expect(wire.frames().map(\.stream) == [later, later])
    // Nobody else is waited for: a part is better than nothing.
    _ = wire.feed(
      frame(.headers, flags: 5, stream: 1, [0x88])
        + frame(.headers, flags: 5, stream: later, [0x88]))
    wire.open()
    _ = wire.feed(frame(.windowUpdate, bigEndian(1)))
    #expect(dataCounts(wire) == [1])
    _ = wire.feed(frame(.windowUpdate, bigEndian(1)))
    #expect(dataCounts(wire) == [1])
  }

  @Test func `an answer's body is given new room on the stream and the connection`() {
    let wire = Wire()
    let id = wire.sent()
    _ = wire.frames()
    _ = wire.feed(frame(.headers, flags: 4, stream: id, [0x88]))
    let part = frame(.data, stream: id, [UInt8](repeating: 1, count: 16_384))
    for _ in 0..<2 { #expect(wire.feed(part) == [.body(token: 1)]) }
    #expect(
      wire.frames()
        == [0, id].map {
          WrittenFrame(type: .windowUpdate, stream: $0, payload: bigEndian(32_768))
        })
    for _ in 0..<20 { #expect(wire.feed(part) == [.body(token: 1)]) }
    #expect(
      wire.feed(frame(.data, flags: 1, stream: id, [1])) == [.body(token: 1), .ended(token: 1)])
    #expect(wire.failure == nil)
  }

  @Test func `an answer that comes before its request is complete ends the request`() {
    let wire = Wire()
    _ = wire.feed(setting(4, 10))
    let id = wire.sent(body: [UInt8](repeating: 1, count: 100))
    _ = wire.frames()
    #expect(
      wire.feed(frame(.headers, flags: 5, stream: id, [0x88])) == [
        .head(token: 1, isComplete: true)
      ])
    #expect(wire.frames() == [WrittenFrame(type: .resetStream, stream: id, payload: bigEndian(8))])
    _ = wire.feed(
      frame(.resetStream, stream: id, bigEndian(0)) + frame(.windowUpdate, stream: id, bigEndian(5))
    )
    #expect(wire.failure == nil)
    #expect(wire.blocked.isEmpty)
  }

  @Test func `a lowered limit holds what was not written back, and GOAWAY gives it back`() {
    let wire = Wire(limit: 5)
    for _ in 0..<3 { wire.open() }
    _ = wire.feed(setting(3, 1))
    #expect(wire.open() == nil)
    #expect(wire.frames().filter { $0.type == .headers }.map(\.stream) == [1])
    // The first GOAWAY of a graceful end names no last stream yet (RFC 9113 §6.8).
    let events = wire.feed(frame(.goAway, bigEndian(0x7FFF_FFFF) + bigEndian(0)))
    #expect(fates(events) == [[2, 1, 7], [3, 1, 7]])
    #expect(!wire.isFinished)
    #expect(wire.feed(frame(.headers, flags: 5, stream: 1, [0x88])).count == 1)
    #expect(wire.frames().isEmpty)
    #expect(wire.isFinished)
  }

  @Test
  func
    `GOAWAY: streams above the last one were not processed, the others go on, and it may come again`()
  {
    let wire = Wire()
    for _ in 0..<4 { _ = wire.sent() }
    let first = wire.feed(frame(.goAway, bigEndian(5) + bigEndian(2) + Array("why".utf8)))
    #expect(first.first == .goAway(lastStreamID: 5, code: 2))
    #expect(String(decoding: wire.body, as: UTF8.self) == "why")
    #expect(fates(first) == [[4, 1, 7]])
    #expect(wire.open() == nil)
    #expect(
      fates(wire.feed(frame(.goAway, bigEndian(1) + bigEndian(0)))) == [[2, 1, 7], [3, 1, 7]])
    #expect(wire.feed(frame(.headers, flags: 5, stream: 1, [0x88])).count == 1)
    #expect(wire.isFinished)
  }

  @Test func `GOAWAY instead of SETTINGS says why the connection is refused`() {
    let wire = Wire(isReady: false)
    _ = wire.sent()
    let events = wire.feed(
      frame(.goAway, bigEndian(0) + bigEndian(0) + Array("no".utf8)), pieces: 3)
    #expect(events.first == .goAway(lastStreamID: 0, code: 0))
    #expect(fates(events) == [[1, 1, 7]])
    #expect(wire.isFinished)
  }

  @Test
  func
    `resets: refused is not processed, anything else is in doubt, and a cancelled request is reset`()
  {
    let wire = Wire()
    let ids = (0..<4).map { _ in wire.sent() }
    _ = wire.frames()
    #expect(fates(wire.feed(frame(.resetStream, stream: ids[0], bigEndian(7)))) == [[1, 1, 7]])
    #expect(fates(wire.feed(frame(.resetStream, stream: ids[1], bigEndian(2)))) == [[2, 0, 2]])
    #expect(wire.engine.reset(ids[2], code: 8)?.isUnprocessed == false)
    #expect(wire.engine.reset(ids[2], code: 8) == nil)
    #expect(
      wire.frames() == [WrittenFrame(type: .resetStream, stream: ids[2], payload: bigEndian(8))])
    // Its answer was on the way.
    #expect(wire.feed(frame(.headers, flags: 5, stream: ids[2], [0x88])).isEmpty)
    #expect(
      wire.feed(frame(.headers, flags: 4, stream: ids[3], [0x8C])) == [
        .head(token: 4, isComplete: false)
      ])
    let lost = wire.feed(frame(.resetStream, stream: ids[3], bigEndian(2)))
    #expect(lost == [.closed(ClosedStream(token: 4, status: 400, code: 2, isUnprocessed: false))])
    #expect(wire.openStreams == 0)
  }

  @Test func `when the connection is gone each open request ends once, by whether it was written`()
  {
    let wire = Wire()
    for _ in 0..<3 { _ = wire.sent() }
    wire.open()
    _ = wire.feed(frame(.headers, flags: 4, stream: 3, [0x8C]))
    var ends: [[Int]] = []
    while let stream = wire.engine.abandoned() {
      ends.append([Int(stream.token), Int(stream.status), stream.isUnprocessed ? 1 : 0])
    }
    #expect(ends == [[1, 0, 0], [2, 400, 0], [3, 0, 0], [4, 0, 1]])
    #expect(wire.openStreams == 0)
    #expect(wire.open() == nil)
  }

  @Test func `what was written and has not left this machine was not processed`() {
    let wire = Wire()
    var unsent = UnsentStreams()
    for record in 1...3 {
      for _ in 0..<2 { _ = wire.sent() }
      unsent.encrypted(upTo: UInt64(record * 100), next: wire.engine.unwrittenFrom)
    }
    #expect(unsent.first == 1)
    unsent.sent(99)
    #expect(unsent.first == 1)
    unsent.sent(100)
    #expect(unsent.first == 5)
    unsent.sent(299)
    #expect(unsent.first == 9)
    var ends: [Int] = []
    while let stream = wire.engine.abandoned(unsentFrom: unsent.first) {
      ends.append(Int(stream.token) * (stream.isUnprocessed ? -1 : 1))
    }
    #expect(ends == [1, 2, 3, 4, -5, -6])
    unsent.sent(300)
    #expect(unsent.first == 13)
  }

  @Test func `our own GOAWAY lets open requests finish`() {
    let wire = Wire()
    _ = wire.sent()
    wire.engine.goAway()
    wire.engine.goAway()
    #expect(wire.open() == nil)
    #expect(wire.frames().filter { $0.type == .goAway }.count == 1)
    #expect(!wire.isFinished)
    #expect(wire.feed(frame(.headers, flags: 5, stream: 1, [0x88])).count == 1)
    #expect(wire.isFinished)
  }

  @Test func `our own GOAWAY gives back what was not written, and a window does not change that`() {
    let wire = Wire()
    _ = wire.feed(setting(4, 1 << 20))
    _ = wire.sent(body: [UInt8](repeating: 1, count: 65_535))
    wire.open()
    _ = wire.frames()
    wire.engine.goAway()
    let back = wire.engine.handedBack()
    #expect(back == ClosedStream(token: 2, status: 0, code: 8, isUnprocessed: true))
    #expect(wire.engine.handedBack() == nil)
    _ = wire.feed(frame(.windowUpdate, bigEndian(1 << 20)))
    #expect(wire.frames().map(\.type) == [.goAway])
    #expect(!wire.isFinished)
    #expect(wire.feed(frame(.headers, flags: 5, stream: 1, [0x88])).count == 1)
    #expect(wire.isFinished)
  }

  @Test func `a body that waits for a window goes on after our GOAWAY, unless it is dropped`() {
    for isDropped in [false, true] {
      let wire = Wire()
      _ = wire.feed(setting(4, 10))
      _ = wire.sent(body: [UInt8](repeating: 1, count: 100))
      _ = wire.frames()
      wire.engine.goAway()
      if isDropped { wire.engine.dropBodies() }
      _ = wire.feed(setting(4, 100))
      #expect(dataCounts(wire) == (isDropped ? [] : [90]))
      #expect(wire.engine.abandoned()?.isUnprocessed == false)
      #expect(wire.blocked.isEmpty)
    }
  }

  @Test(arguments: [16_300, 16_384, 40_000])
  func `a header block larger than a frame goes on in CONTINUATION`(_ size: Int) throws {
    let wire = Wire()
    wire.open()
    let value = [UInt8](repeating: 0x2B, count: size)
    let written = [UInt8](capacity: 1 << 17) { out in
      guard case .request = wire.engine.nextOutput() else { return }
      wire.engine.beginRequest(to: &out)
      wire.engine.append(name: Array("x".utf8).span, value.span, .literal, to: &out)
      _ = wire.engine.endRequest(body: Array("{}".utf8).span, to: &out)
    }
    let frames = WrittenFrame.all(in: written)
    #expect(frames.first?.type == .headers)
    #expect(frames.last?.type == .data)
    let blocks = frames.dropLast()
    #expect(blocks.dropFirst().allSatisfy { $0.type == .continuation })
    #expect(blocks.map(\.flags) == Array(repeating: 0, count: blocks.count - 1) + [4])
    #expect(blocks.allSatisfy { $0.payload.count <= 16_384 })
    var reading = HPACKTests.Reading()
    #expect(try reading.fields(of: blocks.flatMap(\.payload)).first?[1].utf8.count == size)
  }
}
