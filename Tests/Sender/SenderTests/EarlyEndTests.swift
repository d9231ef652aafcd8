// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import SenderDecisions
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// Connections that end before they began, or while nothing is sent.
@Suite(.serialized) struct EarlyEndTests {
  /// nghttp2 takes a connection whose first frame is not SETTINGS for broken (RFC 9113 §3.4), so the goodbye
  /// and its reason would be lost; and a push that waits for such a connection would wait for ever.
  @Test(arguments: [true, false])
  func `GOAWAY before SETTINGS: the pushes go over another connection at once`(
    closes: Bool
  ) throws {
    let rig = try SenderRig()
    let once = Once()
    var script = ScriptedGateway.Script()
    script.connected = { peer in
      guard once.first else { return }
      peer.http.faulty?.mute([], discardingQueued: true)
      peer.http.staysOpen = true
      peer.http.faulty?.sendRawGoAway(lastStreamID: 0, debug: GoAwayEnding.shutdown)
      guard closes else { return }
      peer.http.flush()
      peer.http.close()
    }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    // On a busy machine the pool would grow.
    let sender = try rig.startSender(for: [gateway], ["--max-connections", "1"])
    try rig.sendMany(50)
    let receipts = try rig.receipts(50)
    #expect(receipts.count == 50)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(sender.counter("go_aways") == 1)
    #expect(sender.counter("credential_refusals") == 0)
    #expect(gateway.seen.requests.allSatisfy { $0.connection > 1 })
    #expect(gateway.seen.connections == 2)
    #expect(eventually { gateway.seen.open == 1 })
  }

  @Test
  func `a connection that died without a word while idle: what is sent on it moves, with its id`()
    throws
  {
    let rig = try SenderRig()
    let isDead = Atomic(false)
    let isSilent = Atomic(false)
    var script = ScriptedGateway.Script()
    script.tick = { peer in
      guard peer.number == 1, isDead.load(ordering: .acquiring) else { return }
      peer.http.goSilent()
      isSilent.store(true, ordering: .releasing)
    }
    let gateway = try rig.gateways([script])[0]
    try rig.publishToken()
    let sender = try rig.startSender(for: [gateway]) { $0.pingTimeout = 4_000 }
    try rig.sendMany(20)
    #expect(try rig.receipts(20).count == 20)
    isDead.store(true, ordering: .releasing)
    #expect(eventually { isSilent.load(ordering: .acquiring) })
    try rig.sendMany(20, from: 20)
    let receipts = try rig.receipts(40)
    #expect(receipts.count == 40)
    #expect(Set(receipts.map(\.apnsID)).count == 40)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.counter("silent_connections") == 1)
    let late = gateway.seen.requests.filter { $0.connection > 1 }
    #expect(late.count == 20)
  }
}
