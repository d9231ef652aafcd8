// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import Glibc
import Kafka
import Records
import SenderDecisions
import ServiceKit
import TestSupport
import Testing

@testable import Sender

/// Faults of the gateway as a sender meets them.
@Suite struct FaultReactionTests {
  @Test(arguments: Fault.all)
  func `each fault: every notification ends in a receipt, and as it should`(_ fault: Fault) throws {
    let plan = FaultCase.of(fault)
    let rig = try SenderRig(simulator: plan.simulator)
    try rig.publishToken(issuedAt: WallClock.seconds() - 60)
    try rig.addFaults(plan.rules)
    try File.write(
      rig.folder.file("hosts"), Array("127.0.0.1 localhost\n127.0.0.2 localhost\n".utf8))
    let hosts = plan.simulator.isEmpty ? [] : ["--gateway-hosts", rig.folder.file("hosts")]
    let sender = try rig.startSender(
      ["--request-timeout", plan.findsSilence ? "2s" : "15s", "--max-connections", "2"] + hosts
        + plan.sender, loops: 1
    ) {
      $0.connectTimeout = 2_000
      $0.pingAfter = 500
      $0.pingTimeout = plan.findsSilence ? 1_000 : 10_000
    }
    let first = plan.pause == nil ? plan.count : plan.count / 2
    try rig.sendMany(first)
    if let milliseconds = plan.endsAfter {
      // The time runs from the first connect: the group has to form first.
      _ = eventually { sender.counter("connects") > 0 }
      letPass(milliseconds: milliseconds)
      try rig.endFaults()
      try rig.publishToken(issuedAt: WallClock.seconds(), generation: 2)
    }
    if let milliseconds = plan.pause {
      _ = try rig.receipts(of: 0..<first)
      letPass(milliseconds: milliseconds)
      try rig.sendMany(plan.count - first, from: first)
    }
    let receipts = try rig.receipts(of: 0..<plan.count, withinMilliseconds: 120_000)
    #expect(receipts.count == plan.count, "\(fault): not every notification got a receipt")
    let run = FaultRun(receipts: receipts, sender: sender)
    for failure in plan.failures(run) {
      Issue.record("\(fault), \(fault.title): not so: \(failure); \(summary(run))")
    }
    #expect(sender.stop() == nil)
  }

  private func summary(_ run: FaultRun) -> String {
    let outcomes = Dictionary(grouping: run.receipts) {
      "\($0.outcome) \($0.status.map(String.init) ?? "-") \($0.reason ?? "") attempts \($0.attempts ?? 0)"
    }
    let counters = run.sender.context.counters.sums.filter { $0.value != 0 }
      .map { "\($0.name)=\($0.value)" }
    return "\(outcomes.mapValues(\.count)) \(counters.joined(separator: " "))"
  }
}
