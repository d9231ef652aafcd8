// SPDX-License-Identifier: Apache-2.0
import SenderDecisions
import Telemetry
import Testing

@testable import Sender

@Suite struct GatewayReportsTests {
  private func texts(_ fields: [LogEvent.Field]) -> [String] {
    fields.map { "\($0.name)=\($0.value)" }
  }

  @Test func `the last of a burst of equal errors are counted when it has ended`() throws {
    var reports = GatewayReports()
    var lines: [[String]] = []
    for pool in 0..<1_000 {
      let fields = reports.admit(
        .notConnected, of: "a:443", error: "refused", [("proxy", .text("p"))], now: UInt64(pool))
      if let fields { lines.append(texts(fields)) }
    }
    let first: [LogEvent.Field] = [("proxy", .text("p")), ("error", .text("refused"))]
    #expect(lines == [texts(first)])
    #expect(reports.drainEnded(now: 30_000).isEmpty)
    let ended = reports.drainEnded(now: 40_000).map(texts)
    let last: [LogEvent.Field] = [
      ("error", .text("cannot connect: a:443: refused")), ("left_out", .number(999)),
    ]
    #expect(ended == [texts(last)])
    #expect(reports.drainEnded(now: 80_000).isEmpty)
  }

  @Test func `an error that came once, or that was logged last, has no line for its end`() {
    var reports = GatewayReports()
    for now: UInt64 in [0, 30_000] {
      #expect(reports.admit(.connectionSilent, of: "a:443", error: "", [], now: now) != nil)
    }
    #expect(reports.admit(.connectionLost, of: "a:443", error: "reset", [], now: 0) != nil)
    #expect(reports.drainEnded(now: 80_000).isEmpty)
  }
}
