// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import SenderDecisions
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand
@testable import Sender

/// Dead letters of the sender.
@Suite struct ReplayTests {
  private func replay(_ rig: SenderRig) throws {
    let context = try DeadLettersReplayCommand.context([
      "--kafka", rig.fixture.configuration.bootstrap, "--topic-prefix", rig.fixture.prefix,
      "--no-progress", "--yes",
    ])
    try DeadLettersReplayCommand.run(DeadLettersReplayCommand.settings(context.values), context)
  }

  @Test
  func `dead letters are delivered when they are replayed, and only once however often they are`()
    throws
  {
    let rig = try SenderRig()
    // Some credential is known, and it serves another app: then the app of these is unknown.
    try rig.publishToken(keyID: "KEY0000002", apps: ["com.example.other"])
    try rig.startSender { $0.credentialWait = 5_000 }
    let count = 5
    try rig.sendMany(0..<count)
    func outcomes(_ receipts: Int) throws -> [Outcome: Int] {
      Dictionary(grouping: try rig.receipts(receipts), by: \.outcome).mapValues(\.count)
    }
    #expect(try outcomes(count) == [.deadLettered: count])
    try rig.publishToken()
    try replay(rig)
    #expect(try outcomes(2 * count) == [.deadLettered: count, .delivered: count])
    try replay(rig)
    #expect(
      try outcomes(3 * count) == [.deadLettered: count, .delivered: count, .deduplicated: count])
    let delivered = try rig.receipts(3 * count).filter { $0.outcome == .delivered }
    #expect(delivered.allSatisfy { $0.attempts == 1 && $0.id == "order-1" })
    #expect(Set(delivered.map(\.token)).count == count)
    let all = try rig.receipts(3 * count)
    // The first receipt of an apns-id and a replay is the outcome of that sending.
    for outcome in [Outcome.deadLettered, .delivered, .deduplicated] {
      let some = all.filter { $0.outcome == outcome }
      #expect(some.allSatisfy { ($0.replay == nil) == (outcome == .deadLettered) })
      #expect(Set(some.map { $0.replay ?? "" }).count == (outcome == .deadLettered ? 1 : count))
      #expect(some.allSatisfy { ($0.reason == nil) == (outcome == .delivered) })
      #expect(some.allSatisfy { ($0.detail == nil) == (outcome == .delivered) })
    }
  }
}
