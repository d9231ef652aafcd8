// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

/// What feedback tells senders about devices that are not any more whose they were.
@Suite(.serialized) struct FeedbackReleaseTests {
  private typealias Fixture = FeedbackFixture

  /// A record of `invalid-tokens`, as senders see it.
  private struct Said: Equatable {
    var device: String
    var isTombstone: Bool
    var release: DeviceRelease?
  }

  private func said(_ fixture: Fixture, _ count: Int) throws -> [Said] {
    let table = try KafkaTable(fixture.kafka.configuration, topic: fixture.names.invalidTokens)
    defer { table.close() }
    var all: [Said] = []
    _ = eventually {
      table.pollRecords(timeoutMilliseconds: 20) { record in
        let header = record.header(named: "\(DeviceRelease.header)")
        all.append(
          Said(
            device: String(decoding: record.key, as: UTF8.self),
            isTombstone: record.value.baseAddress == nil,
            release: header.flatMap { DeviceRelease($0.span) }))
      }
      return table.isCaughtUp && all.count >= count
    }
    return all
  }

  private func registered(_ number: Int, _ user: String?, at time: Int64) -> DeviceRecord {
    DeviceRecord(
      device: Fixture.device(number), event: .registered(at: time),
      details: DeviceDetails(user: user))
  }

  private func removed(_ number: Int, at time: Int64) -> DeviceRecord {
    DeviceRecord(device: Fixture.device(number), event: .removed(at: time))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `removals and changes of owner are told, and the next registration takes a removal back`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind, partitions: 1)
    let service = try fixture.start()
    defer { service.stop() }
    let now = WallClock.milliseconds() - 10_000
    try fixture.send([
      registered(1, "ada", at: now), registered(2, "ada", at: now), registered(3, nil, at: now),
    ])
    // Neither is the same owner's registration a change, nor the first owner's.
    try fixture.send([registered(2, "ada", at: now + 1), registered(3, "ada", at: now + 1)])
    #expect(try eventually { try fixture.committed(fixture.names.devices, partitions: 1) == 5 })
    try fixture.send([registered(1, "bob", at: now + 2), removed(2, at: now + 3)])
    let first = try said(fixture, 2)
    let both = [
      Said(
        device: Fixture.device(2).description, isTombstone: false,
        release: DeviceRelease(.removed, at: now + 3)),
      Said(
        device: Fixture.device(1).description, isTombstone: true,
        release: DeviceRelease(.ownerChanged, at: now + 2)),
    ]
    #expect(first == both || first == both.reversed(), "\(first)")
    try fixture.send([registered(2, "ada", at: now + 5)])
    // The mark that the registration refutes may be removed before.
    var next: Said?
    try expectEventually {
      next = try said(fixture, 3).dropFirst(2).first { $0.release != nil }
      return next != nil
    }
    #expect(
      next
        == Said(
          device: Fixture.device(2).description, isTombstone: true,
          release: DeviceRelease(.ownerChanged, at: now + 5)))
    // No word of APNs is in the database.
    #expect(fixture.invalid(atLeast: 0).isEmpty)
    let reader = try TokenStoreReader(fixture.database)
    try expectEventually {
      try reader.stateCounts() == .init(valid: 3, removed: 0, invalid: 0, suspected: 0)
    }
    let state = try TokenQueries(fixture.database).state(Fixture.device(1))
    #expect(state.history.changes.map(\.change) == [.registered, .ownerChanged])
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an erased device is told of, and nothing else remains of it`(kind: DatabaseKind) throws {
    let fixture = try Fixture(kind, partitions: 1)
    let service = try fixture.start()
    defer { service.stop() }
    let now = WallClock.milliseconds() - 10_000
    let device = Fixture.device(1)
    try fixture.send([registered(1, "ada", at: now)])
    #expect(try eventually { try fixture.committed(fixture.names.devices, partitions: 1) == 1 })
    try fixture.produce(fixture.names.devices, [(device.bytes, nil)])
    let told = try said(fixture, 1)
    #expect(told.map(\.isTombstone) == [true])
    #expect(told.first?.release?.reason == .removed)
    #expect(told.first.map { ($0.release?.at ?? 0) >= now + 10_000 } == true)
    #expect(try TokenStoreReader(fixture.database).deviceCount() == 0)
  }

  @Test
  func `a removed device is removed in the database, and no wave of many removals is one`() throws {
    let fixture = try Fixture(partitions: 1)
    let service = try fixture.start(flags: ["--bad-token-limit", "5"])
    defer { service.stop() }
    let now = WallClock.milliseconds() - 10_000
    let numbers = 1...40
    try fixture.send(numbers.map { registered($0, "ada", at: now) })
    try fixture.send(numbers.map { removed($0, at: now + 1) })
    let told = Set(try said(fixture, 40).filter { !$0.isTombstone }.map(\.device))
    #expect(told.count == 40)
    let reader = try TokenStoreReader(fixture.database)
    try expectEventually {
      try reader.stateCounts() == .init(valid: 0, removed: 40, invalid: 0, suspected: 0)
        && reader.invalidCount() == 0
    }
    #expect(service.counter("bad_token_waves") == 0)
  }

  @Test
  func `an answer's time ahead of ours leaves the registrations of the next minutes in force`()
    throws
  {
    let fixture = try Fixture(partitions: 1)
    let service = try fixture.start()
    defer { service.stop() }
    let now = WallClock.milliseconds()
    try fixture.send([registered(1, "ada", at: now - 60_000)])
    try fixture.send([
      Fixture.feedback(Fixture.device(1), timestamp: now + 240_000, sentAt: now - 1)
    ])
    #expect(fixture.invalid(atLeast: 1).count == 1)
    try fixture.send([registered(1, "ada", at: WallClock.milliseconds() + 1)])
    try expectEventually {
      try TokenStoreReader(fixture.database).invalidCount() == 0
    }
  }
}
