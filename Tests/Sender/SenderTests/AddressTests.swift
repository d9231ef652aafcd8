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

  /// A dead second address, as Debian's line for ::1 makes of a gateway that is called localhost.
  @Test func `a dead address beside the only good one parks nothing and counts no attempt`() throws
  {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    let dead = SocketAddress(numeric: "::1", port: gateways[0].address.port)
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, beside: [try #require(dead)])
    try rig.sendMany(50)
    let receipts = try rig.receipts(50)
    #expect(receipts.count == 50)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(sender.counter("retried") == 0 && sender.counter("connects") <= 3)
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

  @Test
  func `a connection that falls silent is found by a PING; its requests move to another address`()
    throws
  {
    let rig = try SenderRig()
    let isFirst = Once()
    var script = ScriptedGateway.Script()
    script.reply = { peer, request in
      // The first connection that has served ten requests is lost by the network.
      if request.stream >= 21, isFirst.isOwned(peer.http.token, of: peer) {
        peer.http.goSilent()
        return .hold
      }
      return .answer(200)
    }
    let gateways = try rig.gateways([script, script])
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--request-timeout", "30s"]) {
      $0.pingTimeout = 4_000
    }
    try rig.sendMany(60)
    let receipts = try rig.receipts(60)
    #expect(Set(receipts.map(\.apnsID)).count == 60)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.counter("silent_connections") == 1)
    #expect(gateways.allSatisfy { !$0.seen.requests.isEmpty }, "the other address took over")
    #expect(sender.counter("moved_address") >= 1)
  }
}

/// True once.
final class Once: Sendable {
  private let isUsed = Atomic(false)
  private let lock = Mutex(())
  /// Kept, so that no later connection is mistaken for it. Under the lock.
  private nonisolated(unsafe) var owner: HTTP2ServerConnection?

  var first: Bool { !isUsed.exchange(true, ordering: .acquiringAndReleasing) }

  /// Whether this connection is the one that asked first.
  func isOwned(_ token: UInt64, of peer: ScriptedGateway.Peer) -> Bool {
    lock.withLock { _ in
      if owner == nil { owner = peer.http }
      return owner === peer.http
    }
  }
}
