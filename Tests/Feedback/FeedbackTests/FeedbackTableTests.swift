// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

/// When a database is brought up to date, when it is rebuilt, and that nothing is judged before.
@Suite(.serialized) struct FeedbackTableTests {
  private typealias Fixture = FeedbackFixture

  private let ghost = FeedbackFixture.device(99)

  /// A database with an invalid token that no topic has.
  private func prepare(
    _ fixture: Fixture, completeAt: Int64, topic: String? = nil,
    anchor: ChangelogPosition.Anchor? = nil
  ) throws {
    let store = try TokenStore(fixture.database, now: 1)
    try store.put(
      ghost,
      DeviceState(mark: .init(since: 1, aliveFrom: 2, reason: "Unregistered", recordedAt: 1)))
    try store.setComplete(at: completeAt)
    if let anchor {
      try store.setPosition(
        topic ?? fixture.names.invalidTokens, 0, ChangelogPosition(anchor: anchor))
    }
  }

  @Test func `a database that cannot be trusted is rebuilt from the topics, one that can is not`()
    throws
  {
    let fixture = try Fixture(partitions: 1)
    let now = WallClock.milliseconds()
    let invalid = Fixture.device(1)
    let first = try fixture.start()
    try fixture.send([Fixture.feedback(invalid)])
    #expect(fixture.invalid(atLeast: 1).map(\.device.token) == [invalid.token])
    #expect(first.counter("restores") == 1)
    first.stop()
    let again = try fixture.start()
    try fixture.send([Fixture.feedback(Fixture.device(2))])
    #expect(fixture.invalid(atLeast: 2).count == 2)
    #expect(again.counter("restores") == 0)
    again.stop()

    let anchors: [(String, () throws -> Void)] = [
      (
        "another record",
        {
          try prepare(fixture, completeAt: now, anchor: .init(offset: 0, timestamp: 5, keyHash: 5))
        }
      ),
      (
        "beyond the end",
        {
          try prepare(
            fixture, completeAt: now, anchor: .init(offset: 500, timestamp: 5, keyHash: 5))
        }
      ),
      ("too old", { try prepare(fixture, completeAt: now - 22 * 3_600_000) }),
      ("of the future", { try prepare(fixture, completeAt: now + 3_600_000) }),
      (
        "other topics",
        {
          try prepare(
            fixture, completeAt: now, topic: "else",
            anchor: .init(offset: 0, timestamp: 5, keyHash: 5))
        }
      ),
    ]
    for (name, prepare) in anchors {
      try prepare()
      let service = try fixture.start()
      #expect(
        eventually {
          let devices = (try? TokenStoreReader(fixture.database).invalidDevices()) ?? []
          return service.counter("restores") > 0 && devices.count == 2
            && !devices.contains { $0.device == ghost }
        }, "\(name)")
      #expect(service.counter("restores") == 1, "\(name)")
      service.stop()
    }
  }

  @Test func `while the ends of the topics cannot be found out nothing is judged`() throws {
    let fixture = try Fixture(partitions: 1, embedded: true)
    let broker = try #require(fixture.kafka.broker)
    let service = try fixture.start()
    defer { service.stop() }
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    #expect(fixture.invalid(atLeast: 1).count == 1)
    broker.inject(Array(repeating: .notLeader, count: 100_000), into: .listOffsets)
    try fixture.send([DeviceRecord(device: Fixture.device(2), event: .registered(at: 5_000))])
    try fixture.send([Fixture.feedback(Fixture.device(2)), Fixture.feedback(Fixture.device(3))])
    letPass(milliseconds: 1_500)
    #expect(service.counter("feedback") == 1)
    broker.clearFaults(of: .listOffsets)
    #expect(eventually { service.counter("feedback") == 3 })
    #expect(service.counter("kept") == 1)
    #expect(fixture.invalid(atLeast: 2).count == 2)
  }
}
