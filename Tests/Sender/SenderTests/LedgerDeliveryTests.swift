// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import SenderDecisions
import TestSupport
import Testing

@testable import Sender

/// What a sender leaves behind, and what its successor makes of it.
@Suite(.serialized) struct LedgerDeliveryTests {
  @Test
  func
    `a hanging head stops nothing, and what is done above it is not sent again by another process`()
    throws
  {
    let rig = try SenderRig(partitions: 1)
    try rig.publishToken(apps: [SenderRig.app])
    let first = try rig.startSender { $0.credentialWait = 600_000 }
    // No provider token serves the first record's app: it hangs.
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(9_999), app: "com.other"))
    let count = 3_000
    for number in 0..<count {
      try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number)))
    }
    #expect(try rig.receipts(count).count == count)
    let isTold = eventually {
      first.counter("widest_span") == count + 1 && first.counter("oldest_open_milliseconds") > 200
        && first.counter("open_records") == 1
    }
    #expect(isTold, "span \(first.counter("widest_span"))")
    #expect(first.counter("open_records") == 1)
    #expect(first.counter("completed_runs") == 1)
    #expect(first.stopFast() == nil)
    #expect(try rig.committed() == 0, "the head is not done")
    let second = try rig.startSender { $0.credentialWait = 600_000 }
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(count)))
    #expect(try rig.receipts(count + 1).count == count + 1)
    #expect(second.counter("delivered") == 1)
    #expect(second.counter("open_records") <= 2)
    try rig.publishToken(generation: 2, apps: [SenderRig.app, "com.other"])
    let receipts = try rig.receipts(count + 2)
    #expect(Set(receipts.map(\.apnsID)).count == receipts.count, "none was sent twice")
    #expect(second.stop() == nil)
    #expect(try rig.committed() == count + 2)
  }

  @Test
  func `text beside the offset that is no map of ours is counted, and the offset alone is used`()
    throws
  {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    for number in 0..<10 {
      try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number)))
    }
    _ = rig.producer.flush(timeoutMilliseconds: 30_000)
    try rig.commit(offset: 2, metadata: "holes1:BA:00000000")
    let sender = try rig.startSender()
    let receipts = try rig.receipts(8)
    #expect(Set(receipts.map(\.apnsID)) == Set((2..<10).map { NotificationID(SenderRig.id($0)) }))
    #expect(sender.counter("offset_maps_refused") == 1)
  }

  @Test func `records that our own offset map calls completed are not sent`() throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    for number in 0..<10 {
      try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number)))
    }
    _ = rig.producer.flush(timeoutMilliseconds: 30_000)
    let map = try #require(OffsetMap.encode(of: rig.onlyPartition, base: 2, [3..<5, 7..<9]))
    try rig.commit(offset: 2, metadata: map)
    let sender = try rig.startSender()
    // 8 is done and lies above what is open: its id counts as taken nevertheless.
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(8)))
    let receipts = try rig.receipts(5)
    let sent = receipts.filter { $0.outcome == .delivered }.map(\.apnsID)
    #expect(Set(sent) == Set([2, 5, 6, 9].map { NotificationID(SenderRig.id($0)) }))
    #expect(receipts.filter { $0.outcome == .deduplicated }.count == 1)
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 11)
  }

  @Test func `a map that was copied from another partition is not believed`() throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    try rig.sendMany(0..<10)
    let bulk = TopicPartition(topic: rig.names.notifications(.bulk), partition: 0)
    try rig.commit(offset: 2, metadata: OffsetMap.encode(of: bulk, base: 2, [3..<5, 7..<9]))
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("delivered") == 8 })
    #expect(sender.counter("offset_maps_refused") == 1)
  }

  /// As a late commit to a topic that was deleted leaves it beside the new one.
  @Test func `a map that reaches beyond the end of the log is not believed`() throws {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    try rig.sendMany(0..<10)
    try rig.commit(
      offset: 2, metadata: OffsetMap.encode(of: rig.onlyPartition, base: 2, [3..<5, 7..<50]))
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("delivered") == 8 })
    #expect(sender.counter("offset_maps_refused") == 1)
    try rig.sendMany(10..<60)
    #expect(eventually { sender.counter("delivered") == 58 })
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 60)
  }

  @Test
  func `a record that could not be sent has taken no id, below the committed offset and above it`()
    throws
  {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    try rig.send("no device", SenderRig.envelope(id: SenderRig.id(50)))
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(1)))
    try rig.send("no device", SenderRig.envelope(id: SenderRig.id(51)))
    _ = rig.producer.flush(timeoutMilliseconds: 30_000)
    try rig.commit(offset: 1, metadata: OffsetMap.encode(of: rig.onlyPartition, base: 1, [2..<3]))
    let sender = try rig.startSender()
    for number in [50, 51] {
      try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number)))
    }
    let receipts = try rig.receipts(3)
    #expect(receipts.count == 3 && receipts.allSatisfy { $0.outcome == .delivered })
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 5)
  }

  /// The runs of the map must not keep the very records in Kafka that lie between them.
  @Test
  func `a map with as many runs as the bound allows is read back, and what lies between is sent`()
    throws
  {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    let runs = PartitionBounds().runsAtMost
    try rig.sendMany(0..<2 * runs + 1)
    let done = (1...Int64(runs)).map { run -> Range<Int64> in 2 * run..<2 * run + 1 }
    let map = try #require(OffsetMap.encode(of: rig.onlyPartition, base: 1, done))
    #expect(try OffsetMap.decode(Array(map.utf8), of: rig.onlyPartition, base: 1).count == runs)
    try rig.commit(offset: 1, metadata: map)
    // The records are taken when the loop has counted the runs that it begins with.
    try rig.pauseLane(true)
    let sender = try rig.startSender()
    #expect(eventually { sender.counter("completed_runs") == runs })
    #expect(sender.counter("partitions_paused") == 0)
    try rig.pauseLane(false)
    let receipts = try rig.receipts(of: (0..<runs).map { 2 * $0 + 1 })
    #expect(receipts.count == runs)
    #expect(sender.stop() == nil)
    #expect(sender.counter("delivered") == runs, "what the map calls done is not sent")
    #expect(try rig.committed() == 2 * runs + 1)
  }

  @Test
  func
    `ids that are not read back in time hold nothing up, are counted once, and count when they come`()
    throws
  {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    let first = try rig.startSender()
    try rig.sendMany(0..<100)
    #expect(try rig.receipts(100).count == 100)
    #expect(first.stop() == nil)
    let broker = try #require(rig.fixture.broker)
    // A window of 40 ids is read in two stretches, which takes ten such turns.
    broker.setRoundTrip(milliseconds: 200)
    let second = try rig.startSender(["--dedup-rebuild", "1ms", "--dedup-window", "40"])
    #expect(eventually { second.counter("dedup_rebuilds_late") == 1 })
    broker.setRoundTrip(milliseconds: 0)
    #expect(eventually { second.counter("dedup_rebuilds") == 1 })
    // Told each time the loop looks, it would be more by now.
    #expect(second.counter("dedup_rebuilds_late") == 1)
    try rig.sendMany(60..<110)
    let receipts = try rig.receipts(150)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: 110, .deduplicated: 40])
    #expect(second.stop() == nil)
    #expect(try rig.committed() == 150)
  }

  @Test func `what was sent before a restart is deduplicated after it, by another sender`() throws {
    let rig = try SenderRig(partitions: 2, hasToken: true)
    let first = try rig.startSender()
    try rig.sendMany(0..<500)
    #expect(try rig.receipts(500).count == 500)
    #expect(first.stop() == nil)
    try rig.sendMany(0..<600)
    let second = try rig.startSender()
    let receipts = try rig.receipts(1_100)
    let outcomes = Dictionary(grouping: receipts, by: \.outcome).mapValues(\.count)
    #expect(outcomes == [.delivered: 600, .deduplicated: 500])
    #expect(second.counter("dedup_rebuilds_late") == 0)
  }

  @Test
  func
    `beyond the bound of open records the partition waits in Kafka; a second signal ends at once`()
    throws
  {
    let rig = try SenderRig(simulator: ["--latency", "60s"], partitions: 2, hasToken: true)
    let sender = try rig.startSender(["--max-open", "50", "--drain-timeout", "60s"])
    try rig.sendMany(0..<1_000)
    let isFull = eventually {
      sender.counter("taken") == 100 && sender.counter("partitions_paused") == 2
        && sender.counter("in_flight") > sender.counter("waiting")
    }
    #expect(isFull, "taken \(sender.counter("taken")), held \(sender.counter("partitions_paused"))")
    #expect(sender.counter("open_records") == 100)
    sender.requestStop()
    let begun = MonotonicClock.milliseconds()
    #expect(!eventually(withinMilliseconds: 500) { sender.hasEnded }, "it waits for the answers")
    #expect(sender.stopFast() == nil)
    #expect(MonotonicClock.milliseconds() - begun < 30_000)
    #expect(try rig.committed() == 0)
  }

  @Test
  func `records that retention removed are counted as lost, and the rest is delivered`() throws {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(0)))
    _ = rig.producer.flush(timeoutMilliseconds: 30_000)
    try rig.commit(offset: 1, metadata: nil)
    let count = 2_500
    let low = try rig.overflow(count: count, bodyBytes: 3_500)
    #expect(low > 1, "the broker removed the oldest")
    let sender = try rig.startSender()
    let left = count + 1 - low
    #expect(try rig.receipts(left).count == left)
    #expect(eventually { sender.counter("lost_to_retention") == low - 1 })
    #expect(sender.counter("lost_to_retention") == low - 1)
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == count + 1)
  }

  @Test func `what retention removes is lost also in a partition that was empty and had no commit`()
    throws
  {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    let first = try rig.startSender()
    #expect(eventually { first.counter("partitions_assigned") > 0 })
    #expect(first.stop() == nil)
    let count = 2_500
    let low = try rig.overflow(count: count, bodyBytes: 3_500)
    #expect(low > 1, "the broker removed the oldest")
    let second = try rig.startSender()
    #expect(try rig.receipts(count - low).count == count - low)
    #expect(eventually { second.counter("lost_to_retention") == low })
    #expect(second.stop() == nil)
    #expect(second.counter("lost_to_retention") == low)
    #expect(try rig.committed() == count)
  }

  @Test(arguments: [0, 20])
  func
    `a group whose offset lies beyond the end of the log reads the log from its start, and sends all of it`(
      there: Int
    ) throws
  {
    let rig = try SenderRig(partitions: 1, hasToken: true)
    func send(_ numbers: Range<Int>) throws {
      for number in numbers {
        try rig.send(SenderRig.token(1), SenderRig.envelope(id: SenderRig.id(number)))
      }
    }
    try send(0..<there)
    try rig.commit(offset: 5_000, metadata: nil)
    let sender = try rig.startSender()
    try send(there..<20)
    #expect(try rig.receipts(20).count == 20)
    #expect(sender.counter("delivered") == 20)
    #expect(eventually { sender.counter("logs_cut") == 1 })
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 20)
  }

  @Test
  func `a log that is the same is read again from its start, and nothing is sent twice`() throws {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    let sender = try rig.startSender()
    try rig.sendMany(0..<20)
    #expect(try rig.receipts(20).count == 20)
    // The table of provider tokens may get some of them.
    rig.fixture.broker!.inject(Array(repeating: .offsetOutOfRange, count: 10), into: .fetch)
    try rig.sendMany(20..<40)
    #expect(try rig.receipts(40).count == 40)
    #expect(sender.counter("delivered") == 40)
    #expect(sender.counter("logs_cut") == 0)
    #expect(sender.stop() == nil)
    #expect(try rig.committed() == 40)
  }

  @Test func `a log that is read again from before the committed offset is not sent again`() throws
  {
    let rig = try SenderRig(partitions: 1, embedded: true, hasToken: true)
    let first = try rig.startSender()
    try rig.sendMany(0..<20)
    #expect(try rig.receipts(20).count == 20)
    #expect(first.stop() == nil)
    #expect(try rig.committed() == 20)
    let second = try rig.startSender()
    #expect(eventually { second.counter("partitions_assigned") > 0 })
    rig.fixture.broker!.inject(Array(repeating: .offsetOutOfRange, count: 10), into: .fetch)
    try rig.sendMany(20..<40)
    #expect(try rig.receipts(40).count == 40)
    #expect(second.counter("delivered") == 20)
    #expect(second.counter("logs_cut") == 0)
    #expect(second.stop() == nil)
    #expect(try rig.committed() == 40)
  }
}
