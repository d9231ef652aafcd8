// SPDX-License-Identifier: Apache-2.0
import Telemetry
import Testing

@Suite struct RepeatedMessagesTests {
  /// As each client of a process writes it about one broker that is down.
  private func refused(_ thread: Int, _ milliseconds: Int, port: Int = 9092) -> String {
    "[thrd:\(thread)]: 127.0.0.1:\(port)/2: Connect to ipv4#127.0.0.1:\(port) failed: Connection refused"
      + " (after \(milliseconds)ms in state CONNECT, \(milliseconds) identical error(s) suppressed)"
  }

  @Test func `one line about a broker that is down, whichever client says it, then a count`() {
    var repeated = RepeatedMessages()
    var shown: [Int] = []
    for turn in 0..<60 {
      for client in 0..<3 {
        if let more = repeated.admit(refused(client, turn), now: UInt64(turn) * 1_000) {
          shown.append(more)
        }
      }
    }
    #expect(shown == [0, 89])
    #expect(repeated.admit(refused(0, 0, port: 9093), now: 59_000) == 0, "another broker")
  }

  @Test func `the end of a repeated message is said once, with those that were not shown`() {
    var repeated = RepeatedMessages()
    for turn in 0..<4 { _ = repeated.admit(refused(turn, turn), now: UInt64(turn) * 500) }
    _ = repeated.admit("once", now: 1_500)
    #expect(repeated.drainEnded(now: 36_499) == [])
    let ended = repeated.drainEnded(now: 36_500)
    #expect(ended.map(\.more) == [3] && ended.map(\.milliseconds) == [36_500])
    #expect(
      ended.first?.text
        == "127.0.0.1:9092/2: Connect to ipv4#127.0.0.1:9092 failed: Connection refused")
    #expect(repeated.drainEnded(now: 60_000) == [])
    #expect(repeated.admit(refused(0, 0), now: 60_000) == 0, "it begins anew")
  }

  /// librdkafka tells of each of its clients' connects to one broker every 30 s only.
  @Test func `a broker that stays down has not come back`() {
    var repeated = RepeatedMessages()
    for turn in 0..<10 {
      let now = UInt64(turn) * 30_100
      #expect(repeated.admit(refused(0, turn), now: now) == 0)
      #expect(repeated.drainEnded(now: now + 30_000) == [])
    }
  }

  @Test func `brackets inside a message belong to it`() {
    var repeated = RepeatedMessages()
    #expect(repeated.admit("a (b) c", now: 0) == 0)
    #expect(repeated.admit("a (d) c", now: 0) == 0)
    #expect(repeated.admit("call(x)", now: 0) == 0)
    #expect(repeated.admit("call(y)", now: 0) == 0)
    #expect(repeated.admit("(z)", now: 0) == 0)
    #expect(repeated.admit("", now: 0) == 0)
  }

  @Test func `a bounded number of messages is kept, and the others are shown`() {
    var repeated = RepeatedMessages()
    for turn in 0..<2 {
      let shown = (0..<1_000).count { repeated.admit("m\($0)", now: UInt64(turn)) != nil }
      #expect(shown == (turn == 0 ? 1_000 : 1_000 - RepeatedMessages.most))
    }
  }
}
