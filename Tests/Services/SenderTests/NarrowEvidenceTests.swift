// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Pipeline
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// What one answer is evidence about, and what it therefore leaves alone.
@Suite struct NarrowEvidenceTests {
  /// Says once whether a push is the first one with a device token.
  private final class Seen: Sendable {
    private let tokens = Mutex(Set<String>())
    func isNew(_ token: String) -> Bool { tokens.withLock { $0.insert(token).inserted } }
  }

  @Test(arguments: [
    Reason.shutdown, .idleTimeout, .invalidProviderToken, .forbidden,
    .tooManyProviderTokenUpdates, .unrelatedKeyIdInToken,
  ])
  func
    `one push is answered with a reason to leave the connection: those under way with it are answered, not sent again`(
      reason: Reason
    ) throws
  {
    let count = 300
    let seen = Seen()
    let odd = SenderRig.token(count / 2)
    let gateway = try ScriptedGateway { push in
      guard push.token == odd, seen.isNew(push.token) else { return .accepted(after: 400) }
      return .refused(Int(reason.rule.status), reason.name, after: 50)
    }
    let rig = try SenderRig()
    try rig.publishToken()
    let sender = try rig.startSender(["--max-connections", "1"], loops: 1, answering: gateway)
    try rig.sendMany(0..<count)
    let receipts = try rig.receipts(of: 0..<count)
    #expect(receipts.count == count)
    let others = receipts.filter { $0.token != odd }
    #expect(others.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    let sends = gateway.count
    #expect(sends <= count + 1, "\(sends) sends")
    #expect(sender.counter("resent_ambiguous") <= 1)
    #expect(sender.counter("connects") <= 2)
  }

  @Test(arguments: [Reason.invalidProviderToken, .forbidden])
  func
    `an app that its key may not serve, one push in a hundred: the others are delivered, each accepted once`(
      reason: Reason
    ) throws
  {
    let (good, bad) = ("com.example.good", "com.example.bad")
    let gateway = try ScriptedGateway { push in
      push.topic == bad
        ? .refused(403, reason.name, after: 5) : .accepted(after: 20)
    }
    let rig = try SenderRig()
    try rig.publishToken(apps: [good, bad])
    let sender = try rig.startSender(loops: 1, answering: gateway)
    var wanted: [Int] = []
    for first in stride(from: 0, to: 2_000, by: 100) {
      try rig.sendMany(first..<first + 50, app: good)
      try rig.sendMany(first + 50..<first + 51, app: bad)
      try rig.sendMany(first + 51..<first + 100, app: good)
      wanted += (first..<first + 100).filter { $0 != first + 50 }
    }
    let receipts = try rig.receipts(of: wanted)
    #expect(receipts.count == wanted.count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    let accepted = gateway.requests.filter { $0.topic == good }
    #expect(Set(accepted.map(\.id)).count == accepted.count, "some were accepted twice")
    // What was under way when the first one was refused, and one or two that found out.
    #expect(gateway.requests.count { $0.topic == bad } <= 20)
    #expect(sender.counter("connects") <= 4, "\(sender.counter("connects")) connects")
    #expect(sender.counter("dead_lettered") == 0)
  }
}
