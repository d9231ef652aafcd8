// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Synchronization
import TestSupport
import Testing

@testable import Sender

/// What a rebalance costs the partitions that stay.
@Suite(.serialized) struct RebalanceWindowTests {
  @Test(arguments: [1, 2])
  func `windows of partitions that stay are not read again; new ones are; repeats are recognized`(
    loops: Int
  ) throws {
    let rig = try SenderRig(partitions: 4, embedded: true, hasToken: true)
    let count = 400
    let first = try rig.startSender(loops: loops)
    try rig.sendMany(0..<count)
    #expect(try rig.receipts(of: 0..<count).count == count)
    #expect(try eventually { try rig.committed() == count })
    let second = try rig.startSender(loops: loops)
    // Two of the four partitions stay, and go on without their logs being read. On a busy machine the group may
    // rebalance once more than it has to; then they stay once more.
    expectEventually {
      second.counter("dedup_rebuilds") == 2 && first.counter("dedup_windows_kept") >= 2
    }
    // At the first of these rebalances the second one had nothing to keep.
    let keptBySecond = second.counter("dedup_windows_kept")
    #expect(keptBySecond <= first.counter("dedup_windows_kept") - 2)
    #expect(first.counter("dedup_rebuilds") == 0)
    #expect(second.stop() == nil)
    #expect(eventually { first.counter("dedup_rebuilds") == 2 })
    let kept = first.counter("dedup_windows_kept")
    #expect(kept >= 4 && kept.isMultiple(of: 2))
    try rig.sendMany(0..<count)
    let receipts = try rig.receipts(2 * count)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: count, .deduplicated: count])
    #expect(first.counter("dedup_rebuilds") == 2 && second.counter("dedup_rebuilds") == 2)
    #expect(first.counter("dedup_rebuilds_late") == 0)
    #expect(first.stop() == nil)
  }

  @Test(arguments: [1, 2])
  func
    `records that are incomplete at a rebalance are sent again by their next owner, this process or another`(
      loops: Int
    ) throws
  {
    let (count, slow) = (300, 40)
    let slowTokens = Set((0..<slow).map(SenderRig.token))
    let seen = Mutex<Set<String>>([])
    // Answers each slow device's first push never, and its second one at once.
    let gateway = try ScriptedGateway { request in
      let isFirst = seen.withLock { $0.insert(request.token).inserted }
      return isFirst && slowTokens.contains(request.token) ? .hold : .accepted()
    }
    let rig = try SenderRig(partitions: 4, embedded: true, hasToken: true)
    let first = try rig.startSender(["--request-timeout", "5m"], loops: loops, answering: gateway)
    // A destination that has not answered yet is given one push, by each loop.
    let warm = slow + 50
    try rig.sendMany(slow..<warm)
    #expect(try rig.receipts(of: slow..<warm).count == warm - slow)
    try rig.sendMany(0..<slow)
    try rig.sendMany(warm..<count)
    #expect(try rig.receipts(of: slow..<count).count == count - slow)
    // Embedded brokers take no commit during a rebalance: what is done must be known before.
    #expect(try eventually { try rig.committedDone() == count - slow })
    let second = try rig.startSender(loops: loops, answering: gateway)
    let again = try rig.receipts(of: 0..<slow)
    #expect(again.count == slow && again.allSatisfy { $0.outcome == .delivered })
    #expect(first.counter("delivered") > count - slow && second.counter("delivered") > 0)
    #expect(gateway.requests.count == count + slow, "nothing else is sent again")
    #expect(try rig.receipts(count).count == count)
    // Now that they are done, their ids are known again.
    try rig.sendMany(0..<slow)
    let receipts = try rig.receipts(count + slow)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: count, .deduplicated: slow])
    #expect(first.counter("dedup_rebuilds_late") + second.counter("dedup_rebuilds_late") == 0)
    #expect(second.stopFast() == nil)
    #expect(first.stopFast() == nil)
  }

  /// The same window is owed to a partition whose topic nobody finds when it is to be read.
  @Test func `windows whose topic is missing do not count as read; they are read when it is back`()
    throws
  {
    let count = 400
    let rig = try SenderRig(partitions: 2, embedded: true)
    let broker = try #require(rig.fixture.broker)
    try rig.publishToken()
    let first = try rig.startSender()
    try rig.sendMany(0..<count)
    #expect(try rig.receipts(of: 0..<count).count == count)
    #expect(first.stop() == nil)
    #expect(try rig.committed() == count)
    // The next owner has its partitions, and is not told yet where to go on.
    broker.inject(Array(repeating: .coordinatorNotAvailable, count: 50_000), into: .offsetFetch)
    let second = try rig.startSender(["--dedup-rebuild", "60s"])
    #expect(eventually { second.counter("beginnings_failed") > 0 })
    broker.setTopic(rig.names.notifications(.first), fault: .unknownTopicOrPartition)
    broker.clearFaults(of: .offsetFetch)
    #expect(eventually { second.context.isReady })
    #expect(!eventually(withinMilliseconds: 1_500) { second.counter("dedup_rebuilds") > 0 })
    broker.setTopic(rig.names.notifications(.first), fault: nil)
    #expect(eventually { second.counter("dedup_rebuilds") >= 2 })
    try rig.sendMany(0..<count)
    let receipts = try rig.receipts(2 * count)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: count, .deduplicated: count])
    #expect(second.counter("dedup_rebuilds_late") == 0)
    #expect(second.stop() == nil)
  }
}
