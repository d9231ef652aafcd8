// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

@testable import Feedback
@testable import Store

/// What the database says of itself while its topics are read, and what is in it meanwhile.
@Suite(.serialized) struct FeedbackRebuildTests {
  private typealias Fixture = FeedbackFixture

  private static let count = 3_000

  private func register(_ fixture: Fixture, _ numbers: Range<Int>) throws {
    try fixture.send(
      numbers.map {
        DeviceRecord(
          device: Fixture.device($0), event: .registered(at: 5_000),
          details: DeviceDetails(user: "user-\($0 % 100)"))
      })
  }

  private func state(_ fixture: Fixture) -> TableState? {
    try? TokenStoreReader(fixture.database).state()
  }

  private func isComplete(_ fixture: Fixture) -> Bool {
    if case .complete = state(fixture) { true } else { false }
  }

  private func obstacle(_ service: RunningService, _ condition: String = "devices") -> String? {
    service.context.status.obstacles.first { $0.condition == condition }?.reason
  }

  /// A database with all devices, that was complete so many milliseconds ago.
  private func made(_ fixture: Fixture, age: Int64) throws {
    try register(fixture, 0..<Self.count)
    let service = try fixture.start()
    #expect(eventually { isComplete(fixture) })
    service.stop()
    #expect(try TokenStoreReader(fixture.database).deviceCount() == Self.count)
    try TokenStore(fixture.database, now: 1).setComplete(at: WallClock.milliseconds() - age)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a database that was away for an hour is brought up to date, and not complete before`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind, embedded: true)
    let broker = try #require(fixture.kafka.broker)
    try made(fixture, age: 3_600_000)
    try register(fixture, Self.count..<Self.count + 500)
    broker.inject(Array(repeating: .notLeader, count: 100_000), into: .listOffsets)
    let service = try fixture.start()
    defer { service.stop() }
    #expect(eventually { !isComplete(fixture) })
    broker.clearFaults(of: .listOffsets)
    #expect(eventually { isComplete(fixture) })
    #expect(service.counter("restores") == 0)
    #expect(try TokenStoreReader(fixture.database).deviceCounts().registered == Self.count + 500)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a database that is too old is read anew beside what it has, also across a restart`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind, embedded: true)
    let broker = try #require(fixture.kafka.broker)
    // More than nine tenths of the topics' delete.retention.ms, a day.
    try made(fixture, age: 22 * 3_600_000)
    // What no topic has any more.
    let ghost = Fixture.device(99_999)
    let store = try TokenStore(fixture.database, now: 1)
    try store.put(ghost, DeviceState(presence: .registered(at: 1)))
    broker.inject(Array(repeating: .notLeader, count: 100_000), into: .listOffsets)
    var service = try fixture.start()
    #expect(eventually { service.counter("restores") == 1 })
    letPass(milliseconds: 300)
    #expect(!isComplete(fixture))
    #expect(try TokenStoreReader(fixture.database).deviceCount() == Self.count + 1)
    service.stop()
    service = try fixture.start()
    defer { service.stop() }
    letPass(milliseconds: 300)
    #expect(!isComplete(fixture))
    #expect(try TokenStoreReader(fixture.database).deviceCount() == Self.count + 1)
    broker.clearFaults(of: .listOffsets)
    #expect(eventually { isComplete(fixture) })
    #expect(service.counter("restores") == 0, "it goes on where it was")
    let reader = try TokenStoreReader(fixture.database)
    #expect(try reader.deviceCounts() == DeviceCounts(registered: Self.count))
    #expect(try reader.devices(token: ghost.token).isEmpty)
  }

  @Test func `a database that takes no changes makes the process unready, also without any work`()
    throws
  {
    let server = try PostgresServer()
    let fixture = try Fixture()
    let location = try server.newDatabase("tokens")
    let service = try fixture.start(database: location)
    defer { service.stop() }
    expectEventually {
      (try? TokenStoreReader(location).state()) == .complete(generation: 2)
    }
    #expect(obstacle(service, "database") == nil)
    try server.setReadOnly(true)
    expectEventually {
      obstacle(service, "database")?.contains("default_transaction_read_only") == true
    }
    try server.setReadOnly(false)
    #expect(eventually { obstacle(service, "database") == nil })
  }
}
