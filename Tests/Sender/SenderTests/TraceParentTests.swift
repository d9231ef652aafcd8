// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

@testable import Sender

@Suite struct TraceParentTests {
  private static let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

  private func envelope(_ number: Int) -> String {
    SenderRig.envelope(id: SenderRig.id(number), carrying: ["traceparent=\(Self.trace)"])
  }

  @Test func `a receipt has the trace of its request, and so has the dead letter`() throws {
    let rig = try SenderRig()
    // Some credential is known, and it serves another app: then the app of these is unknown.
    try rig.publishToken(keyID: "KEY0000002", apps: ["com.example.other"])
    try rig.startSender { $0.credentialWait = 1_500 }
    try rig.send(SenderRig.token(1), envelope(1))
    let first = try rig.receipts(1)
    #expect(first.map(\.outcome) == [.deadLettered])
    #expect(first.map(\.traceParent) == [Self.trace])
    let letters = try rig.fixture.read(rig.names.deadLetters, count: 1)
    #expect(
      letters.first?.headers.contains {
        $0.name == "traceparent" && $0.value.elementsEqual(Self.trace.utf8)
      } == true)
    try rig.publishToken()
    try rig.send(SenderRig.token(2), envelope(2))
    try rig.send(SenderRig.token(3), SenderRig.envelope(id: SenderRig.id(3)))
    let delivered = try rig.receipts(3).filter { $0.outcome == .delivered }
    #expect(Set(delivered.map(\.traceParent)) == [Self.trace, nil])
  }
}
