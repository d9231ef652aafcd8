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

/// Stream credit and the age of connections.
@Suite(.serialized) struct ConnectionLifeTests {
  /// pushy#356: "Maximum active streams violated for this endpoint".
  @Test
  func `a limit that falls to 1 and to 0, grows and flaps is never exceeded, and nothing is lost`()
    throws
  {
    let rig = try SenderRig()
    let step = Atomic(0)
    var script = ScriptedGateway.Script()
    script.limit = 40
    let limits: [UInt32] = [40, 1, 0, 7, 200, 0, 1, 1, 40, 3]
    script.tick = { peer in
      let next = step.add(1, ordering: .relaxed).newValue
      if next % 3 == 0 {
        peer.http.update(SettingsChange(maxConcurrentStreams: limits[next / 3 % limits.count]))
      }
    }
    let gateways = try rig.gateways([script])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--max-connections", "1"])
    try rig.sendMany(3_000)
    let receipts = try rig.receipts(3_000)
    #expect(receipts.count == 3_000)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(gateways[0].seen.violations == [])
    #expect(gateways[0].seen.mostOpen <= 200)
    #expect(gateways[0].seen.connections == 1)
    #expect(sender.counter("connections_lost") == 0)
  }

  @Test func `a connection is replaced before its stream ids run out`() throws {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    try rig.publishToken()
    try rig.startSender(for: gateways) { $0.connectionRequests = 50 }
    try rig.sendMany(300)
    let receipts = try rig.receipts(300)
    #expect(receipts.count == 300)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    let seen = gateways[0].seen
    #expect(seen.connections >= 6)
    #expect(seen.handshakesResumed >= 1, "TLS sessions are resumed")
    #expect(seen.requests.allSatisfy { $0.stream < 100 })
    #expect(eventually { gateways[0].seen.open == 1 })
  }
}
