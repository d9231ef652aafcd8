// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// Devices in order. How lanes and devices share a loop is in `SenderDecisionsTests/Dispatch/TenantFairnessTests.swift`.
@Suite(.onOwnThread) struct DeviceOrderTests {
  @Test func `--ordered: one in flight per device, in order; other devices are not slowed`() throws
  {
    let gateway = try ScriptedGateway { _ in .accepted(after: 40) }
    let rig = try SenderRig(hasToken: true)
    try rig.startSender(["--ordered"], loops: 1, answering: gateway)
    let device = SenderRig.token(7)
    for number in 0..<50 { try rig.send(device, SenderRig.envelope(id: SenderRig.id(number))) }
    try rig.sendMany(100..<600)
    let receipts = try rig.receipts(of: Array(0..<50) + Array(100..<600))
    #expect(receipts.count == 550)
    let log = gateway.requests.filter { $0.token == device }
    #expect(log.map(\.id) == (0..<50).map(SenderRig.id))
    for (before, after) in zip(log, log.dropFirst()) {
      #expect(after.at >= before.answeredAt, "two pushes of one device were open")
    }
    let others = gateway.requests.filter { $0.token != device }
    // Fifty round trips of the busy device take two seconds; the others need a few.
    #expect(others.last!.at - others.first!.at < log.last!.at - log.first!.at)
  }
}
