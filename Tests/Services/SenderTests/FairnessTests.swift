// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Sender

/// A tenant in trouble does not slow another one, with one loop and with several: each holds its own partitions,
/// connections and shares.
@Suite(.onOwnThread) struct TenantFairnessTests {
  private static let tenant = "com.example.tenant"
  private static let flooding = "com.example.flooding"
  private static let flood = 2_000
  /// What another tenant's trouble may cost, in milliseconds, on a busy machine: a full destination may stop the
  /// intake for 0.2 s a time, and what waits for it has to be read past. Without the rules it is half a minute.
  private static let bound: Int64 = 5_000

  /// A cluster with four partitions a topic, and a provider token of the tenant that is well.
  private func tenantsRig() throws -> SenderRig {
    let rig = try SenderRig()
    try rig.publishToken(keyID: "KEYTENANT1", apps: [Self.tenant])
    return rig
  }

  /// Sends the good tenant's notifications for a while, to devices in every partition, and checks that each is
  /// delivered in time.
  private func expectUndisturbed(_ rig: SenderRig) throws {
    let traffic = try SteadyTraffic(
      rig, app: Self.tenant, from: 1_000_000, everyMilliseconds: 10)
    _ = eventually { traffic.sent >= 200 }
    let sent = traffic.stop()
    let receipts = try rig.receipts(of: 1_000_000..<1_000_000 + sent)
    #expect(receipts.count == sent)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    let p99 = receipts.latencies.quantile(0.99)
    #expect(p99 <= Self.bound, "p99 \(p99) ms of \(sent)")
  }

  /// Waits until more of the flood was moved aside than one of several loops has.
  private func expectMoved(_ sender: RunningSender) {
    #expect(
      eventually(withinMilliseconds: 30_000) { sender.counter("diverted") > Self.flood / 2 },
      "\(sender.counter("diverted")) diverted")
  }

  @Test(arguments: [1, 3])
  func `a tenant that floods a gateway which does not answer it does not slow another tenant`(
    loops: Int
  ) throws {
    let gateway = try ScriptedGateway {
      $0.topic == Self.flooding ? .hold : .accepted(after: 20)
    }
    let rig = try tenantsRig()
    try rig.publishToken(keyID: "KEYFLOOD01", apps: [Self.flooding])
    let inFlight = 600 / loops
    let sender = try rig.startSender(
      ["--max-in-flight", "\(inFlight)"], loops: loops, answering: gateway)
    try rig.sendMany(0..<Self.flood, app: Self.flooding)
    expectMoved(sender)
    try expectUndisturbed(rig)
    #expect(sender.counter("dead_lettered") == 0)
    #expect(sender.counter("in_flight") <= loops * inFlight)
    // Its gateway recovers: nothing of the flood is lost.
    gateway.answer { _ in .accepted(after: 5) }
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }

  @Test(arguments: [3])
  func `a tenant whose provider token APNs refuses does not slow another one, and is left alone`(
    loops: Int
  ) throws {
    let gateway = try ScriptedGateway {
      $0.topic == Self.flooding
        ? .refused(403, "InvalidProviderToken", after: 5) : .accepted(after: 20)
    }
    let rig = try tenantsRig()
    try rig.publishToken(keyID: "KEYFLOOD01", apps: [Self.flooding])
    let sender = try rig.startSender(
      ["--max-in-flight", "\(600 / loops)"], loops: loops, answering: gateway)
    try rig.sendMany(0..<Self.flood, app: Self.flooding)
    expectMoved(sender)
    #expect(sender.counter("credential_refusals") >= loops)
    try expectUndisturbed(rig)
    #expect(sender.counter("dead_lettered") == 0)
    // Each loop finds out for itself, with the one request that a new connection may carry.
    let refused = gateway.requests.count { $0.topic == Self.flooding }
    #expect(refused <= 2 * loops, "\(refused) requests with a token that is refused")
    // A new token heals it.
    gateway.answer { _ in .accepted(after: 5) }
    try rig.publishToken(generation: 2, keyID: "KEYFLOOD01", apps: [Self.flooding])
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }

  @Test(arguments: [3])
  func
    `a tenant without a credential does not slow another one; its notifications are dead letters`(
      loops: Int
    ) throws
  {
    let gateway = try ScriptedGateway { _ in .accepted(after: 20) }
    let rig = try tenantsRig()
    let sender = try rig.startSender(
      ["--max-in-flight", "\(600 / loops)", "--credential-wait", "3s"], loops: loops,
      answering: gateway)
    try rig.sendMany(0..<Self.flood, app: Self.flooding)
    expectMoved(sender)
    try expectUndisturbed(rig)
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .deadLettered })
  }

  /// Slots enough for all of it: what would stop is the partition, which has its own bound of what is open.
  @Test(arguments: [(loops: 1, stuck: 2), (loops: 3, stuck: 1)])
  func `tenants that fill partitions, not the loop, do not slow others in those partitions`(
    loops: Int, stuck: Int
  ) throws {
    let gateway = try ScriptedGateway {
      $0.topic == Self.tenant ? .accepted(after: 20) : .hold
    }
    let rig = try tenantsRig()
    let sender = try rig.startSender(
      ["--max-in-flight", "20000", "--max-open", "200"], loops: loops, answering: gateway)
    let each = Self.flood / stuck
    for number in 0..<stuck {
      let app = "\(Self.flooding)\(number)"
      try rig.publishToken(keyID: "KEYFLOOD0\(number)", apps: [app])
      try rig.sendMany(number * each..<(number + 1) * each, app: app)
    }
    expectMoved(sender)
    try expectUndisturbed(rig)
    #expect(sender.counter("dead_lettered") == 0)
    gateway.answer { _ in .accepted(after: 5) }
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }

  @Test(arguments: [3])
  func
    `a tenant without a credential that fills partitions does not slow others in those partitions`(
      loops: Int
    ) throws
  {
    let gateway = try ScriptedGateway { _ in .accepted(after: 20) }
    let rig = try tenantsRig()
    let sender = try rig.startSender(
      ["--max-in-flight", "20000", "--max-open", "200"], loops: loops, answering: gateway)
    try rig.sendMany(0..<Self.flood, app: Self.flooding)
    expectMoved(sender)
    try expectUndisturbed(rig)
    // Its token comes at last.
    try rig.publishToken(keyID: "KEYFLOOD01", apps: [Self.flooding])
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }
}
