// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

@testable import Sender

/// An outage whose connections the system refuses. All kinds are in `SenderDecisionsTests/Dispatch/OutageTests.swift`.
@Suite(.onOwnThread) struct OutageTests {
  @Test
  func `all connections refused, then taken again: nothing is dead-lettered, all is delivered`()
    throws
  {
    let gateway = try ScriptedGateway(port: FreePort.find()) { _ in .accepted(after: 10) }
    let rig = try SenderRig(hasToken: true)
    let sender = try rig.startSender(
      ["--max-connections", "2"], loops: 1, answering: gateway
    ) { $0.maxAttempts = 3 }
    let count = 6_000
    try rig.sendMany(0..<1_000)
    #expect(eventually { gateway.count >= 500 })
    gateway.listen(false)
    try rig.sendMany(1_000..<count)
    letPass(milliseconds: 3_000)
    let during = gateway.count
    gateway.listen(true)
    let receipts = try rig.receipts(of: 0..<count, withinMilliseconds: 60_000)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.counter("dead_lettered") == 0)
    // A push that is on a retry topic has burnt an attempt: a few may, before the outage is noticed.
    #expect(sender.counter("retried") <= 50)
    // The gateway was left alone while it was out.
    let sentTwice = gateway.count - count
    #expect(sentTwice < 1_500, "\(sentTwice) sends were repeated (\(during) until its end)")
  }
}
