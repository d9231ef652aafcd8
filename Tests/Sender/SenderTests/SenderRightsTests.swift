// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import ServiceKit
import TestSupport
import Testing

@testable import Sender

/// A sender whose Kafka user lacks a right: it says which, is not ready, and goes on when it is granted.
@Suite(.onOwnThread) struct SenderRightsTests {
  private func place() throws -> (SenderRig, RestrictedUser) {
    KafkaLog.silence()
    let rig = try SenderRig(partitions: 2, embedded: true, hasToken: true)
    let broker = try #require(rig.fixture.broker)
    return (rig, RestrictedUser(broker, rights: KafkaRights(of: .sender, rig.names).all))
  }

  private func obstacle(_ sender: RunningService) -> String? {
    sender.context.status.obstacles.first { $0.condition == "rights" }?.reason
  }

  private func wait(_ sender: RunningService, for words: String?) -> Bool {
    eventually { obstacle(sender) == words }
  }

  @Test func `with the rights of the table nothing is missing, and pushes are sent`() throws {
    let (rig, user) = try place()
    let sender = try rig.startSender(user.flags)
    try rig.sendMany(0..<50)
    #expect(try rig.receipts(of: 0..<50).count == 50)
    #expect(obstacle(sender) == nil)
  }

  @Test
  func `without Read on the controls: not ready, and paused without a restart once it is granted`()
    throws
  {
    let (rig, user) = try place()
    let controls = KafkaRight.Resource.topic(rig.names.controls)
    user.revoke(.read, controls)
    try rig.pauseLane(true)
    let sender = try rig.startSender(user.flags)
    #expect(
      wait(sender, for: "needs Read on topic \(rig.names.controls)"), "\(obstacle(sender) ?? "")")
    // A topic that cannot be read does not stop everything.
    try rig.sendMany(0..<1)
    #expect(try rig.receipts(of: 0..<1).count == 1)
    user.grant(.read, controls)
    #expect(wait(sender, for: nil))
    #expect(eventually { sender.counter("paused_lanes") == 1 })
  }

  @Test func `rights taken away at run time: of a lane, and to write receipts`() throws {
    let (rig, user) = try place()
    let sender = try rig.startSender(user.flags)
    try rig.sendMany(0..<10)
    #expect(try rig.receipts(of: 0..<10).count == 10)
    let lane = KafkaRight.Resource.topic(rig.names.notifications(.first))
    user.revoke(.read, lane)
    #expect(wait(sender, for: "needs Read on topic \(rig.names.notifications(.first))"))
    user.grant(.read, lane)
    #expect(wait(sender, for: nil))
    try rig.sendMany(10..<20)
    #expect(try rig.receipts(of: 10..<20).count == 10)

    let receipts = KafkaRight.Resource.topic(rig.names.receipts)
    user.revoke(.write, receipts)
    try rig.sendMany(20..<30)
    #expect(wait(sender, for: "needs Write on topic \(rig.names.receipts)"))
    user.grant(.write, receipts)
    #expect(wait(sender, for: nil), "\(obstacle(sender) ?? "")")
    #expect(try rig.receipts(of: 20..<30).count == 10)
    #expect(try eventually { try rig.committed() == 30 })
    #expect(sender.stop() == nil)
  }
}
