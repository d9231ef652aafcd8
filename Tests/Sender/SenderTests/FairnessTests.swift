// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// A tenant in trouble does not slow another one with several loops: each holds its own partitions, connections and
/// shares. Every kind of trouble is in `SenderDecisionsTests/Dispatch/TenantFairnessTests.swift`, with one loop.
@Suite(.onOwnThread) struct TenantFairnessTests {
  private static let tenant = "com.example.tenant"
  private static let flooding = "com.example.flooding"
  private static let flood = 2_000
  /// What another tenant's trouble may cost, in milliseconds, on a busy machine: a full destination may stop the
  /// intake for 0.2 s a time, and what waits for it has to be read past. Without the rules it is half a minute.
  private static let bound: Int64 = 10_000

  /// Sends the good tenant's notifications for a while, to devices in every partition, and checks that each is
  /// delivered in time.
  private func expectUndisturbed(_ rig: SenderRig) throws {
    let traffic = try SteadyTraffic(rig, app: Self.tenant, from: 1_000_000, everyMilliseconds: 10)
    _ = eventually { traffic.sent >= 200 }
    let sent = traffic.stop()
    let receipts = try rig.receipts(of: 1_000_000..<1_000_000 + sent)
    #expect(receipts.count == sent)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
    let p99 = receipts.latencies.quantile(0.99)
    #expect(p99 <= Self.bound, "p99 \(p99) ms of \(sent)")
  }

  @Test
  func `a tenant that floods a gateway which does not answer it does not slow another tenant`()
    throws
  {
    let gateway = try ScriptedGateway { $0.topic == Self.flooding ? .hold : .accepted(after: 20) }
    // Four partitions a topic.
    let rig = try SenderRig()
    try rig.publishToken(keyID: "KEYTENANT1", apps: [Self.tenant])
    try rig.publishToken(keyID: "KEYFLOOD01", apps: [Self.flooding])
    let (loops, inFlight) = (3, 200)
    let sender = try rig.startSender(
      ["--max-in-flight", "\(inFlight)"], loops: loops, answering: gateway)
    try rig.sendMany(0..<Self.flood, app: Self.flooding)
    // More than one of the loops has.
    #expect(
      eventually { sender.counter("diverted") > Self.flood / 2 },
      "\(sender.counter("diverted")) diverted")
    try expectUndisturbed(rig)
    #expect(sender.counter("dead_lettered") == 0)
    #expect(sender.counter("in_flight") <= loops * inFlight)
    // Its gateway recovers: nothing of the flood is lost.
    gateway.answer { _ in .accepted(after: 5) }
    let receipts = try rig.receipts(of: 0..<Self.flood, withinMilliseconds: 90_000)
    #expect(receipts.count == Self.flood)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }
}
