// SPDX-License-Identifier: Apache-2.0
import ServiceKit
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct ReceiptReplayTests {
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
