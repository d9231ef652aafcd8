// SPDX-License-Identifier: Apache-2.0
import APNS
import Contract
import EventLoop
import HTTP2
import HTTP2Server
import Records
import TestSupport
import Testing

@testable import Sender

/// The sender and the addresses of a gateway.
@Suite(.serialized) struct AddressTests {
  /// The connect time-out is longer than the test waits.
  @Test func `six addresses that swallow packets and a good one: each costs a quarter of a second`()
    throws
  {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    let holes = try (2...7).map { try BlackHole(at: Self.address($0, gateways[0])) }
    try rig.publishToken()
    let sender = try rig.startSender(
      for: gateways, beside: holes.map(\.address), connectTimeout: 120_000)
    try rig.sendMany(20)
    let receipts = try rig.receipts(20)
    #expect(receipts.count == 20)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(eventually { sender.counter("open_connections") == 1 }, "the others were given up")
    #expect(sender.counter("connects") <= 7, "each at most once")
    #expect(sender.counter("retried") == 0)
  }

  @Test func `addresses without a route or with a closed port cost nothing; also after a GOAWAY`()
    throws
  {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init(), .init()])
    // Nobody connects to a group: the system refuses the call.
    let groups = (1...10).compactMap {
      SocketAddress(bytes: [0xFF, 2] + Array(repeating: 0, count: 13) + [$0], port: 1)
    }
    try rig.publishToken()
    let sender = try rig.startSender(
      for: gateways, beside: groups + (3...8).map { Self.address($0, gateways[0]) },
      connectTimeout: 120_000)
    try rig.sendMany(20)
    #expect(try rig.receipts(20).count == 20)
    // The connections end; the next ones meet all of the addresses again.
    for gateway in gateways {
      gateway.change {
        $0.tick = { $0.http.faulty?.sendRawGoAway(lastStreamID: 1 << 30, debug: []) }
      }
    }
    #expect(eventually { sender.counter("go_aways") >= 1 })
    for gateway in gateways { gateway.change { $0.tick = { _ in } } }
    try rig.sendMany(20, from: 20)
    let receipts = try rig.receipts(40)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(receipts.count == 40)
    #expect(sender.counter("retried") == 0 && sender.counter("kept_in_outage") == 0)
  }

  private static func address(_ number: UInt8, _ gateway: ScriptedGateway) -> SocketAddress {
    SocketAddress(bytes: [127, 0, 0, number], port: gateway.address.port)!
  }

  @Test
  func `the name is looked up again before each connect: a gateway that moved is found`() throws {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init(), .init()])
    try rig.publishToken()
    try rig.startSender(for: gateways)
    try rig.point(to: [gateways[0].address])
    try rig.sendMany(5)
    #expect(try rig.receipts(5).count == 5)
    try rig.point(to: [gateways[1].address])
    gateways[0].stop()
    try rig.sendMany(5, from: 5)
    #expect(try rig.receipts(10).count == 10)
    #expect(gateways[1].seen.requests.count >= 5)
  }
}
