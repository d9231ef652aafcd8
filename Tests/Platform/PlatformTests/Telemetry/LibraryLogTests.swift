// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct LibraryLogTests {
  @Test func `librdkafka's lines come one level below our own`() {
    let expected: [LogLevel] = [
      .warning, .warning, .warning, .warning, .info, .debug, .debug, .debug,
    ]
    #expect((0...7).map { LibraryLog.level(of: $0) } == expected)
    for level in LogLevel.allCases {
      for severity in Int32(0)...7 {
        var log = LibraryLog(level: level)
        let isShown = log.admit(severity: severity, subject: "FAIL", message: "m", now: 0) != nil
        #expect(isShown == (LibraryLog.level(of: severity) >= level))
      }
    }
  }

  @Test
  func `librdkafka's lines are cut short by subject, and the next one says how many were left out`()
  {
    var log = LibraryLog()
    func shown(_ subject: String, _ count: Int, from start: UInt64) -> [Int] {
      (0..<count).compactMap {
        log.admit(
          severity: 3, subject: subject, message: "\(subject) \(start + UInt64($0))",
          now: start + UInt64($0))
      }
    }
    #expect(shown("FAIL", 1_000, from: 0) == [0, 0, 0, 0, 0])
    #expect(shown("SSL", 2, from: 1_000) == [0, 0], "another subject")
    #expect(shown("FAIL", 100, from: 9_000) == [])
    #expect(shown("FAIL", 7, from: 10_000) == [1_095, 0, 0, 0, 0])
    #expect(shown("FAIL", 1, from: 30_000) == [2])
  }

  @Test func `a message that repeats itself is counted, and its end can be said`() {
    var log = LibraryLog()
    let shown = (0..<45).compactMap { turn in
      log.admit(
        severity: 3, subject: "FAIL", message: "[thrd:\(turn)]: b: down (after \(turn)ms)",
        now: UInt64(turn) * 200)
    }
    #expect(shown == [0])
    #expect(log.drainEnded(now: 44_000).map(\.more) == [44])
  }

  @Test func `the last lines that a subject had too many are counted once it is quiet`() {
    var log = LibraryLog()
    func admit(_ message: String, _ now: UInt64) -> Int? {
      log.admit(severity: 3, subject: "FAIL", message: message, now: now)
    }
    for number in 0..<20 as Range<UInt64> { _ = admit("a\(number)", number) }
    #expect(log.drainEnded(now: 34_999) == [])
    let ended = log.drainEnded(now: 35_000)
    #expect(ended.map(\.text) == ["others about FAIL"] && ended.map(\.more) == [15])
    #expect(log.drainEnded(now: 80_000) == [])
    #expect(admit("b", 80_001) == 0)
  }

  @Test func `a message that is left out takes those that it counts along`() {
    var log = LibraryLog()
    func admit(_ message: String, _ now: UInt64) -> Int? {
      log.admit(severity: 3, subject: "FAIL", message: message, now: now)
    }
    for now in 0..<10 as Range<UInt64> { _ = admit("x", now) }
    for number in 0..<5 as Range<UInt64> { #expect(admit("a\(number)", 31_000 + number) == 0) }
    #expect(admit("x", 31_005) == nil)
    #expect(admit("y", 42_000) == 10)
  }

  @Test func `librdkafka's lines are counted for a bounded number of subjects`() {
    var log = LibraryLog()
    var shown = 0
    for number in 0..<10_000
    where log.admit(severity: 3, subject: "s\(number)", message: "\(number)", now: 1) != nil {
      shown += 1
    }
    #expect(shown == LibraryLog.subjects + LibraryLog.most)
  }

  @Test
  func `librdkafka's lines steer no terminal, nor turn a line around, as no line of a log does`() {
    let event = LogEvent(
      milliseconds: 0, level: .info, service: "s", message: "a\u{202E}b\u{85}c",
      fields: [("x", .text("\u{2066}y"))])
    #expect(event.line(.text) == #"1970-01-01T00:00:00.000Z info s a b c x="\u{2066}y""#)
    #expect(TerminalText.plain("a\u{202E}\u{1B}b") == "a\u{FFFD}\u{FFFD}b")
    #expect(TerminalText.json("\"\u{85}\u{202E}é\"") == #""\u0085\u202eé""#)
  }
}
