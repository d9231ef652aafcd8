// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand
@testable import Sender

/// A credential that APNs refuses for a while, and settings of an app that it refuses.
@Suite struct CredentialRefusalTests {
  @Test(arguments: ["Forbidden", "BadCertificate", "BadEnvironmentKeyIdInToken", "NeverHeardOf"])
  func `a key that is refused for a moment under load costs no push`(reason: String) throws {
    let rig = try SenderRig()
    let issuedAt = WallClock.seconds() - 10
    try rig.publishToken(issuedAt: issuedAt)
    try rig.startSender()
    let count = 2_000
    for number in 0..<count {
      try rig.send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
      if number == count / 4 {
        let first = try rig.receipts(10)
        #expect(first.count >= 10 && first.allSatisfy { $0.outcome == .delivered })
        try rig.addFaults(#"[{"id":"any_answer","status":403,"reason":"\#(reason)"}]"#)
      }
    }
    letPass(milliseconds: 3_000)
    try rig.endFaults()
    // What was refused may be tried again at once with another one.
    try rig.publishToken(issuedAt: issuedAt + 1, generation: 2)
    let receipts = try rig.receipts(count, withinMilliseconds: 90_000)
    #expect(receipts.count == count)
    #expect(receipts.allSatisfy { $0.outcome == .delivered })
  }

  private func refuse(_ rig: SenderRig, _ reason: String, times: Int = 1) throws {
    try rig.addFaults(
      #"[{"id":"any_answer","status":400,"reason":"\#(reason)","#
        + #""when":{"token":"\#(SenderRig.token(1))","times":\#(times)}}]"#)
  }

  private func send(_ rig: SenderRig, body: String = #"{"aps":{"alert":"x"}}"#) throws {
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1), body: body))
  }

  @Test(arguments: ["TopicDisallowed", "BadTopic", "DeviceTokenNotForTopic", "BadMessageId"])
  func `an id that ended by a setting is free again, also for a sender that starts later`(
    reason: String
  ) throws {
    let rig = try SenderRig(hasToken: true)
    try refuse(rig, reason)
    let first = try rig.startSender()
    try send(rig)
    #expect(try rig.receipts(1).map(\.reason) == [reason])
    // The record that says so is read after the receipt was written, perhaps.
    let lane = rig.names.notifications(.first)
    #expect(try rig.fixture.read(lane, count: 2).count == 2)
    first.stop()
    try rig.startSender()
    try send(rig)
    #expect(try reasons(rig, 2) == [reason, "delivered"].sorted())
    try send(rig)
    #expect(try reasons(rig, 3) == [reason, "delivered", "apns_id_repeated"].sorted())
    try send(rig, body: #"{"aps":{"alert":"y"}}"#)
    #expect(
      try reasons(rig, 4) == [reason, "delivered", "apns_id_repeated", "other_payload"].sorted())
  }

  /// The reasons of so many receipts, or their outcomes where these have none, in order: they come from several partitions.
  private func reasons(_ rig: SenderRig, _ count: Int) throws -> [String] {
    try rig.receipts(count).map { $0.reason ?? "\($0.outcome)" }.sorted()
  }

  @Test func `an id that ended by a setting is free again for the sender that refused it`() throws {
    let rig = try SenderRig(hasToken: true)
    try refuse(rig, "TopicDisallowed")
    try rig.startSender()
    try send(rig)
    #expect(try rig.receipts(1).count == 1)
    #expect(try rig.fixture.read(rig.names.notifications(.first), count: 2).count == 2)
    try send(rig)
    #expect(try reasons(rig, 2) == ["TopicDisallowed", "delivered"])
  }

  private func replay(_ rig: SenderRig, _ flags: [String]) throws {
    let context = try ReceiptsReplayCommand.context(
      [
        "--kafka", rig.fixture.configuration.bootstrap, "--topic-prefix", rig.fixture.prefix,
        "--no-progress", "--yes",
      ] + flags)
    try ReceiptsReplayCommand.run(ReceiptsReplayCommand.settings(context.values), context)
  }

  @Test func `what was refused is sent again from its receipts, once however often that is done`()
    throws
  {
    let rig = try SenderRig(hasToken: true)
    let count = 30
    try rig.addFaults(#"[{"id":"any_answer","status":400,"reason":"TopicDisallowed"}]"#)
    try rig.startSender()
    try rig.sendMany(0..<count)
    #expect(try rig.receipts(count).count { $0.outcome == .rejected } == count)
    try rig.endFaults()
    let flags = ["--app", SenderRig.app, "--reason", "TopicDisallowed"]
    try replay(rig, flags + ["--dry-run"])
    try replay(rig, ["--app", "com.example.other"])
    #expect(try rig.receipts(afterMilliseconds: 1_000).count == count)
    try replay(rig, flags)
    let receipts = try rig.receipts(2 * count)
    #expect(receipts.count { $0.outcome == .delivered } == count)
    #expect(Set(receipts.filter { $0.outcome == .delivered }.map(\.token)).count == count)
    // Delivered since: left out.
    try replay(rig, flags)
    #expect(try rig.receipts(afterMilliseconds: 1_000).count == 2 * count)
  }
}
