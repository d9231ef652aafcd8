// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Sender

/// Windows of `apns-id`s that a sender reads back from the log when it starts.
@Suite(.serialized) struct WindowRebuildTests {
  @Test func `the oldest IDs leave first, of a window that was read back in two parts`() throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    let first = try rig.startSender()
    try rig.sendMany(0..<40)
    #expect(try rig.receipts(40).count == 40)
    #expect(first.stop() == nil)
    let second = try rig.startSender(["--dedup-window", "40"])
    #expect(eventually { second.counter("dedup_rebuilds") == 1 })
    // Ten new ones push out the ten oldest, not those that were read first.
    try rig.sendMany(40..<50)
    try rig.sendMany(36..<40)
    let receipts = try rig.receipts(54)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: 50, .deduplicated: 4])
    #expect(second.stop() == nil)
  }

  @Test func `a partition without a leader holds up its own window only`() throws {
    let rig = try SenderRig(partitions: 3, embedded: true, hasToken: true)
    let first = try rig.startSender()
    try rig.sendMany(0..<90)
    #expect(try rig.receipts(90).count == 90)
    #expect(first.stop() == nil)
    let broker = try #require(rig.fixture.broker)
    func setLeader(_ leader: Int32) throws {
      try broker.setLeader(topic: rig.names.notifications(.first), partition: 1, broker: leader)
    }
    try setLeader(-1)
    let second = try rig.startSender(["--dedup-rebuild", "1m"])
    #expect(eventually { second.counter("dedup_rebuilds") == 2 })
    try setLeader(1)
    #expect(eventually { second.counter("dedup_rebuilds") == 3 })
    #expect(second.counter("dedup_rebuilds_late") == 0)
    try rig.sendMany(0..<90)
    let receipts = try rig.receipts(180)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: 90, .deduplicated: 90])
    #expect(second.stop() == nil)
  }
}
