// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Dispatch
import EventLoop
import HTTP2
import HTTP2Server
import Pipeline
import Records
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// Stream credit and the age of connections.
@Suite(.serialized) struct ConnectionLifeTests {
  @Test func `one stream before the first accepted push, then as many as SETTINGS allow`() throws {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.limit = 1_000
    script.reply = { _, request in request.stream == 1 ? .hold : .answer(200) }
    let gateways = try rig.gateways([script])
    try rig.publishToken()
    try rig.startSender(for: gateways)
    try rig.sendMany(300)
    #expect(eventually { gateways[0].seen.requests.count == 1 })
    _ = eventually(withinMilliseconds: 200) { false }
    #expect(gateways[0].seen.requests.count == 1, "whatever SETTINGS say")
    gateways[0].answerHeld()
    #expect(try rig.receipts(300).count == 300)
    #expect(gateways[0].seen.mostOpen > 50)
  }

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
        peer.http.updateSettings(maxConcurrentStreams: limits[next / 3 % limits.count])
      }
    }
    let gateways = try rig.gateways([script])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--max-connections", "1"])
    try rig.sendMany(3_000)
    let receipts = try rig.receipts(3_000, withinMilliseconds: 30_000)
    #expect(receipts.count == 3_000)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(gateways[0].seen.violations == [])
    #expect(gateways[0].seen.mostOpen <= 200)
    #expect(gateways[0].seen.connections == 1)
    #expect(sender.counter("connections_lost") == 0)
  }

  @Test func `while the limit is 0 nothing goes out; other connections serve`() throws {
    let rig = try SenderRig()
    var closed = ScriptedGateway.Script()
    closed.limit = 0
    let gateways = try rig.gateways([closed, .init()])
    try rig.publishToken()
    try rig.startSender(for: gateways) { $0.pool.minimum = 2 }
    try rig.sendMany(100)
    #expect(try rig.receipts(100).count == 100)
    #expect(gateways[0].seen.requests.isEmpty)
    #expect(gateways[1].seen.requests.count == 100)
  }

  @Test
  func
    `a connection is replaced at its age, after its successor is there, and nothing is sent twice`()
    throws
  {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init(), .init()])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--connection-age", "1s"])
    try rig.sendMany(1)
    #expect(try rig.receipts(1).count == 1)
    for number in 1..<150 {
      try rig.sendMany(1, from: number)
      _ = eventually(withinMilliseconds: 20) { false }
    }
    let receipts = try rig.receipts(150)
    #expect(receipts.count == 150)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(sender.counter("replaced_aged") >= 2)
    #expect(gateways.reduce(0) { $0 + $1.seen.open } <= 2)
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

  @Test func `sustained starvation opens another connection, up to the maximum`() throws {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    script.limit = 2
    script.reply = { _, request in request.stream <= 1 ? .answer(200) : .hold }
    let gateways = try rig.gateways([script])
    try rig.publishToken()
    try rig.startSender(for: gateways, ["--max-connections", "3"])
    try rig.sendMany(60)
    #expect(eventually { gateways[0].seen.open == 3 })
    _ = eventually(withinMilliseconds: 1_500) { false }
    #expect(gateways[0].seen.connections == 3)
  }
}
