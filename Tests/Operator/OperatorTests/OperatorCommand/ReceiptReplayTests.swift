// SPDX-License-Identifier: Apache-2.0
import EventLoop
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct ReceiptReplayTests {
  /// A lane's age limit may be long, and no sender may have run for longer than it.
  @Test func `a notification is found however long it waited for its outcome`() throws {
    let fixture = try KafkaFixture(topics: [
      ("receipts", 1), ("notifications", 1), ("notifications.bulk", 1),
    ])
    let now = WallClock.milliseconds()
    let created = now - 5 * 86_400_000
    let lane = fixture.name("notifications")
    try fixture.produce(lane, value: Letter.notification(), timestamp: created)
    try fixture.produce(lane, value: "another", timestamp: now)
    let receipt =
      #"{"outcome":"expired","reason":"max_age_passed","app":"com.example.app","#
      + #""apns_id":"\#(Letter.id)","created":\#(created),"at":\#(now)}"#
    try fixture.produce(fixture.name("receipts"), key: nil, value: receipt)
    let context = try ReceiptsReplayCommand.context([
      "--reason", "max_age_passed", "--outcome", "expired", "--topic-prefix", fixture.prefix,
      "--no-progress",
    ])
    let settings = try ReceiptsReplayCommand.settings(context.values)
    let replayer = ReceiptReplayer(
      TopicWalk(
        cluster: try KafkaCluster(fixture.configuration, context), context: context,
        showsProgress: false), settings.names, settings.filter)
    try replayer.replay(try replayer.wanted(), isDryRun: true)
    #expect(replayer.result.sent == [lane: 1] && replayer.result.missing == 0)
  }

  @Test func `a replay that is stopped while it reads receipts does not say that none matches`()
    throws
  {
    let fixture = try KafkaFixture(topics: [
      ("receipts", 1), ("notifications", 1), ("notifications.bulk", 1),
    ])
    try fixture.produce(fixture.name("receipts"), key: nil, value: #"{"outcome":"delivered"}"#)
    let context = try ReceiptsReplayCommand.context([
      "--app", "a.b", "--topic-prefix", fixture.prefix, "--no-progress",
    ])
    let settings = try ReceiptsReplayCommand.settings(context.values)
    let cluster = try KafkaCluster(fixture.configuration, context)
    let replayer = ReceiptReplayer(
      TopicWalk(cluster: cluster, context: context, showsProgress: false), settings.names,
      settings.filter)
    context.signals.requestStop()
    let wanted = try replayer.wanted()
    #expect(wanted.count == 0)
    try replayer.replay(wanted, isDryRun: false)
    #expect(replayer.result.wasStopped)
    #expect(
      replayer.result.lines(isDryRun: false) == ["stopped before the end: the list is incomplete"])
  }
}
