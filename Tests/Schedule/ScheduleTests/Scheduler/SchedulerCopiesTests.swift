// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import TestSupport
import Testing

/// Several schedulers on one PostgreSQL database.
@Suite struct SchedulerCopiesTests {
  @Test func `copies share the partitions, and one takes over what the other leaves`() throws {
    let fixture = try SchedulerFixture(partitions: 4)
    let ingest = try fixture.ingest()
    let location = try DatabaseKind.postgres.location(in: fixture.folder)
    let (first, second) = (try fixture.scheduler(location), try fixture.scheduler(location))
    expectEventually {
      [first, second].allSatisfy { $0.counter("partitions_assigned") == 2 }
    }
    let due = WallClock.milliseconds() + 20_000
    for index in 0..<40 { try fixture.request("r\(index)", sendAt: due + Int64(index) * 100) }
    expectEventually {
      first.counter("scheduled") + second.counter("scheduled") >= 40
    }
    #expect(first.counter("scheduled") > 0 && second.counter("scheduled") > 0)
    // A broker that rebalances refuses a member's last commit, and what is not committed is read again.
    try expectEventually {
      try fixture.kafka.committed(fixture.names.group(.scheduler), fixture.names.schedule) >= 40
    }
    #expect(second.stop() == nil)
    #expect(try eventually { try fixture.sent().count >= 40 })
    let sent = try fixture.sent()
    #expect(Set(sent.map(\.id)) == Set((0..<40).map { "r\($0)" }))
    for (id, at) in sent { #expect(at >= due + (Int64(id.dropFirst()) ?? 0) * 100) }
    #expect(first.counter("rebuilds") == 0, "the other's part is in the database")
    #expect(first.stop() == nil && ingest.stop() == nil)
  }
}
