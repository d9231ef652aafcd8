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
    #expect(eventually(withinMilliseconds: 15_000) { first.counter("scheduled") == 1 })
    #expect(first.stop() == nil)
    #expect(oldIngest.stop() == nil)
    try forget(path, new)
    let ingest = try new.ingest()
    let second = try new.scheduler(path)
    try new.request("after", sendAt: due)
    #expect(try eventually(withinMilliseconds: 60_000) { try new.sent().count >= 2 })
    #expect(try new.sent().map(\.id).sorted() == ["after", "before"])
    for (_, at) in try new.sent() { #expect(at >= due) }
    #expect(second.counter("rebuilds") == 0)
    #expect(ingest.stop() == nil)
    #expect(second.stop() == nil)
  }

  /// The group's offset and the database's are those of a log that was longer.
  private func forget(_ path: String, _ fixture: SchedulerFixture) throws {
    let store = try ScheduleStore(try TokenStore(path, now: 1))
    try store.transaction { () throws(StoreError) in try store.setPosition(0, 1_000) }
    let partition = TopicPartition(topic: fixture.names.schedule, partition: 0)
    try fixture.kafka.commit(
      group: fixture.names.group(.scheduler), partition, offset: 1_000)
  }
}
