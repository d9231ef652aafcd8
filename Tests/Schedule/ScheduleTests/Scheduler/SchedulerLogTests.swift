// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Store
import TestSupport
import Testing

/// A scheduler and another log than the one that it knew.
@Suite struct SchedulerLogTests {
  @Test func `after the topic was made again what the database has is sent, and what comes later`()
    throws
  {
    let (old, new) = (try SchedulerFixture(partitions: 1), try SchedulerFixture(partitions: 1))
    let path = old.folder.file("a.db")
    let due = WallClock.milliseconds() + 20_000
    let oldIngest = try old.ingest()
    let first = try old.scheduler(path)
    try old.request("before", sendAt: due)
    #expect(eventually { first.counter("scheduled") == 1 })
    #expect(first.stop() == nil && oldIngest.stop() == nil)
    try forget(path, new)
    let ingest = try new.ingest()
    let second = try new.scheduler(path)
    try new.request("after", sendAt: due)
    #expect(try eventually { try new.sent().count >= 2 })
    #expect(try new.sent().map(\.id).sorted() == ["after", "before"])
    for (_, at) in try new.sent() { #expect(at >= due) }
    #expect(second.counter("rebuilds") == 0)
    #expect(ingest.stop() == nil && second.stop() == nil)
  }

  /// As when the topic is deleted, its group's offsets go with it.
  @Test(arguments: DatabaseKind.allCases)
  func `what waits is written to a topic that was made anew, and can be cancelled there`(
    _ kind: DatabaseKind
  ) throws {
    let (old, new) = (try SchedulerFixture(partitions: 1), try SchedulerFixture(partitions: 1))
    let path = try kind.location(in: old.folder)
    let due = WallClock.milliseconds() + 40_000
    let oldIngest = try old.ingest()
    let first = try old.scheduler(path)
    let count = 700
    for number in 0..<count { try old.request("r\(number)", sendAt: due) }
    #expect(eventually { first.counter("scheduled") == count })
    #expect(first.stop() == nil && oldIngest.stop() == nil)
    let ingest = try new.ingest()
    // It is stopped in the middle of it, and begins once more.
    let interrupted = try new.scheduler(path)
    _ = eventually { interrupted.counter("written_again") > 0 }
    #expect(interrupted.stop() == nil)
    let second = try new.scheduler(path)
    try expectEventually {
      Set(try new.readAll(new.names.schedule).map(\.key)).count == count
    }
    try new.cancel("r3")
    #expect(eventually { second.counter("cancelled") == 1 })
    #expect(try eventually(withinMilliseconds: 90_000) { try new.sent().count >= count - 1 })
    let sent = try new.sent()
    #expect(sent.map(\.id).sorted() == (0..<count).filter { $0 != 3 }.map { "r\($0)" }.sorted())
    #expect(sent.allSatisfy { $0.at >= due })
    #expect(ingest.stop() == nil && second.stop() == nil)
  }

  /// Keys are in other partitions then, and some of the old partitions are nobody's.
  @Test(arguments: [(3, 1), (2, 5)])
  func `what waits is sent once though the new topic has another number of partitions`(
    _ before: Int, _ after: Int
  ) throws {
    let old = try SchedulerFixture(partitions: before)
    let new = try SchedulerFixture(partitions: after)
    let path = old.folder.file("a.db")
    let due = WallClock.milliseconds() + 25_000
    let oldIngest = try old.ingest()
    let first = try old.scheduler(path)
    let ids = (0..<60).map { "r\($0)" }
    for id in ids { try old.request(id, sendAt: due) }
    #expect(eventually { first.counter("scheduled") == ids.count })
    #expect(first.stop() == nil && oldIngest.stop() == nil)
    let ingest = try new.ingest()
    let second = try new.scheduler(path)
    try expectEventually {
      Set(try new.readAll(new.names.schedule).map(\.key)).count == ids.count
    }
    #expect(second.stop() == nil)
    // What was there before would be written and released once more by each that begins.
    let third = try new.scheduler(path)
    #expect(try eventually { try new.sent().count >= ids.count })
    #expect(eventually { third.counter("loaded") == 0 })
    #expect(third.counter("written_again") == 0)
    let sent = try new.sent()
    #expect(sent.map(\.id).sorted() == ids.sorted())
    #expect(sent.allSatisfy { $0.at >= due })
    #expect(ingest.stop() == nil && third.stop() == nil)
    let store = try ScheduleStore(try TokenStore(path, now: 1))
    #expect(try store.partitions() == (0..<Int32(after)).map { $0 })
    #expect(try store.count((0..<5).map { $0 }) == 0)
  }

  /// Ingest has gone on writing before the scheduler came.
  @Test func `what waits is sent though the new topic is as long as the one before`() throws {
    let (old, new) = (try SchedulerFixture(partitions: 1), try SchedulerFixture(partitions: 1))
    let path = old.folder.file("a.db")
    let due = WallClock.milliseconds() + 20_000
    let oldIngest = try old.ingest()
    let first = try old.scheduler(path)
    for number in 0..<3 { try old.request("before\(number)", sendAt: due) }
    #expect(eventually { first.counter("scheduled") == 3 })
    #expect(first.stop() == nil && oldIngest.stop() == nil)
    let ingest = try new.ingest()
    for number in 0..<5 { try new.request("after\(number)", sendAt: due) }
    #expect(
      try eventually { try new.readAll(new.names.schedule).count == 5 })
    let second = try new.scheduler(path)
    #expect(try eventually { try new.sent().count >= 8 })
    #expect(
      try new.sent().map(\.id).sorted()
        == (0..<5).map { "after\($0)" } + (0..<3).map { "before\($0)" })
    #expect(ingest.stop() == nil && second.stop() == nil)
  }

  /// The group's offset and the database's are those of a log that was longer.
  private func forget(_ path: String, _ fixture: SchedulerFixture) throws {
    let store = try ScheduleStore(try TokenStore(path, now: 1))
    try store.transaction { () throws(StoreError) in try store.setPosition(0, 1_000) }
    let partition = TopicPartition(topic: fixture.names.schedule, partition: 0)
    try fixture.kafka.commit(group: fixture.names.group(.scheduler), partition, offset: 1_000)
  }
}
