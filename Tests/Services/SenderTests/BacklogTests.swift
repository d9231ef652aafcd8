// SPDX-License-Identifier: Apache-2.0
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// Backlogs behind a gateway that answers everything, as fast as its streams allow.
@Suite(.onOwnThread) struct BacklogTests {
  private static let count = 6_000

  /// Two credentials, two loops, fifty streams each of 50 ms: a second and a half of work that waits at full
  /// lines. Saturated is not stuck: every notification goes to the gateway once, none by way of a retry topic.
  @Test
  func
    `a backlog of two credentials is sent from its own topic: nothing is moved to a retry topic`()
    throws
  {
    let gateway = try ScriptedGateway(streams: 50) { _ in .accepted(after: 50) }
    let rig = try SenderRig()
    let apps = ["com.example.one", "com.example.two"]
    for (number, app) in apps.enumerated() {
      try rig.publishToken(keyID: SenderRig.keyID(number + 1), apps: [app])
    }
    // Long runs of one app, as campaigns are.
    let part = Self.count / 6
    for number in 0..<6 {
      try rig.sendMany(number * part..<(number + 1) * part, app: apps[number % 2])
    }
    let sender = try rig.startSender(
      ["--max-in-flight", "600", "--max-connections", "1"], loops: 2, answering: gateway)
    let receipts = try rig.receipts(of: 0..<Self.count, withinMilliseconds: 60_000)
    #expect(receipts.count == Self.count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.counter("diverted") == 0)
    #expect(sender.counter("retried") == 0)
    #expect(gateway.count == Self.count)
  }
}
