// SPDX-License-Identifier: Apache-2.0
import APNS
import EventLoop
import Pipeline
import Records
import ServiceKit
import TestSupport
import Testing

@testable import Sender

/// Many credentials, each with connections of its own.
@Suite(.serialized) struct ManyCredentialsTests {
  private static func app(_ number: Int) -> String { "com.example.a\(number)" }

  /// A busy machine may take its time: no connection is given up for that.
  private static let patience = ["--connect-timeout", "1m", "--ping-after", "10m"]

  private func publishTokens(_ rig: SenderRig, _ count: Int) throws {
    for number in 1...count {
      try rig.publishToken(keyID: SenderRig.keyID(number), apps: [Self.app(number)])
    }
  }

  @Test
  func `more credentials than connections: they take turns, and everything is delivered once`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    try publishTokens(rig, 7)
    let sender = try rig.startSender(
      for: [gateway], ["--max-connections-total", "2"] + Self.patience)
    for number in 1...7 { try rig.sendMany(number * 10..<number * 10 + 10, app: Self.app(number)) }
    var most = 0
    #expect(
      eventually(withinMilliseconds: 30_000) {
        most = max(most, sender.counter("open_connections"))
        return sender.counter("delivered") == 70
      })
    #expect(most <= 2)
    #expect(Set(gateway.seen.requests.map(\.id)).count == 70)
    #expect(gateway.seen.requests.count == 70, "nothing is sent twice")
    #expect(gateway.seen.connections == 7, "each had one turn")
    #expect(sender.counter("waits_for_room") > 0)
    #expect(sender.counter("connections_lost") == 0)
  }

  @Test
  func `a credential that never has nothing to send gives its connection up after a time, too`()
    throws
  {
    let rig = try SenderRig()
    var script = ScriptedGateway.Script()
    // The first connection's pushes are never answered.
    script.reply = { peer, _ in peer.number == 1 ? .hold : .answer(200) }
    let gateway = try rig.gateways([script])[0]
    try publishTokens(rig, 2)
    try rig.startSender(for: [gateway], ["--max-connections-total", "1"] + Self.patience)
    try rig.sendMany(0..<1, app: Self.app(1))
    #expect(eventually { gateway.seen.requests.count == 1 })
    try rig.sendMany(1..<2, app: Self.app(2))
    // Its turn is over, and then its push is.
    _ = eventually(withinMilliseconds: 12_000) { false }
    gateway.answerHeld()
    #expect(eventually { gateway.seen.requests.count == 2 })
    #expect(gateway.seen.requests.map(\.connection) == [1, 2])
  }

  @Test func `idle connections close when there are many, and come back with the next push`() throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    try publishTokens(rig, 70)
    let sender = try rig.startSender(for: [gateway], ["--idle-close", "2s"] + Self.patience)
    for number in 1...70 { try rig.sendMany(number..<number + 1, app: Self.app(number)) }
    #expect(eventually(withinMilliseconds: 30_000) { sender.counter("delivered") == 70 })
    #expect(eventually(withinMilliseconds: 30_000) { gateway.seen.open == 64 })
    #expect(sender.counter("closed_idle") >= 6)
    let before = gateway.seen.connections
    for number in 1...70 { try rig.sendMany(100 + number..<101 + number, app: Self.app(number)) }
    #expect(eventually(withinMilliseconds: 30_000) { sender.counter("delivered") == 140 })
    #expect(gateway.seen.connections > before)
    #expect(gateway.seen.requests.count == 140)
    #expect(sender.counter("connections_lost") == 0)
  }

  @Test func `no more connections than files may be open`() throws {
    let rig = try SenderRig()
    var settings = try SenderSettings(rig.startSender(["--loops", "2"]).context.values)
    var lowered = settings.fit(openFiles: 1_048_576)
    #expect(!lowered)
    #expect(settings.connectionsPerLoop == 2_048)
    lowered = settings.fit(openFiles: 256)
    #expect(lowered)
    #expect(settings.connectionsPerLoop == 72)
    lowered = settings.fit(openFiles: 32)
    #expect(lowered)
    #expect(settings.connectionsPerLoop == 1)
  }
}
