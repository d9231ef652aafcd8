// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import Feedback
@testable import Store

@Suite(.serialized) struct FeedbackServiceTests {
  private typealias Fixture = FeedbackFixture

  /// A restart would not help, and the next start would wait as long.
  @Test func `a thread that waits for PostgreSQL does not count as stuck`() {
    let patience = PostgresConnection.Patience()
    #expect(patience.answer + 2 * patience.backend < StatusBoard.patience)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `invalid tokens are recorded and published, and their offsets committed`(kind: DatabaseKind)
    throws
  {
    let fixture = try Fixture(kind)
    let devices = (1...300).map { Fixture.device($0) }
    try fixture.send(devices.map { Fixture.feedback($0) })
    let service = try fixture.start()
    defer { service.stop() }
    let invalid = fixture.invalid(atLeast: 300)
    #expect(Set(invalid.map(\.device.token)) == Set(devices.map(\.token)))
    #expect(invalid.allSatisfy { $0.since == 1_000 && $0.reason == "Unregistered" })
    let table = try fixture.published(keys: 300)
    #expect(Set(table.keys) == Set(devices.map(\.description)))
    #expect(table.values.allSatisfy { $0?.contains("\"invalid_since\":1000") == true })
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 300 })
  }

  @Test func `what ends a transaction is no record, and leaves the group without lag`() throws {
    let fixture = try Fixture(partitions: 1, embedded: true)
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    for topic in [fixture.names.feedback, fixture.names.devices] {
      try fixture.kafka.endTransaction(on: topic)
    }
    let service = try fixture.start()
    defer { service.stop() }
    try expectEventually {
      try fixture.committed(fixture.names.feedback, partitions: 1) == 2
        && fixture.committed(fixture.names.devices, partitions: 1) == 1
    }
    #expect(service.counter("feedback") == 1)
    #expect(service.counter("lost_to_retention") == 0)
  }

  @Test func `registrations with a zone that does not exist are counted, and kept`() throws {
    let fixture = try Fixture()
    let service = try fixture.start()
    defer { service.stop() }
    let zones = ["Europe/Berlin", "Europe/Atlantis", nil, "europe berlin", "Europe/Atlantis"]
    try fixture.send(
      zones.enumerated().map { number, zone in
        DeviceRecord(
          device: Fixture.device(number), event: .registered(at: 1_000),
          details: DeviceDetails(timeZone: zone))
      })
    #expect(eventually { service.counter("devices") == 5 })
    #expect(service.counter("unknown_zones") == 3)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a token that was registered later is kept, and one registered again lives`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind)
    let (kept, invalid, revived) = (Fixture.device(1), Fixture.device(2), Fixture.device(3))
    let service = try fixture.start()
    defer { service.stop() }
    try fixture.send([
      DeviceRecord(device: kept, event: .registered(at: 1_001)),
      DeviceRecord(device: invalid, event: .registered(at: 1_000)),
    ])
    #expect(eventually { service.counter("devices") == 2 })
    try fixture.send([kept, invalid, revived].map { Fixture.feedback($0) })
    #expect(eventually { service.counter("feedback") == 3 })
    #expect(service.counter("kept") == 1)
    try fixture.send([DeviceRecord(device: revived, event: .registered(at: 1_500))])
    #expect(eventually { service.counter("published") == 3 })
    let table = try fixture.published(keys: 2)
    #expect(table[invalid.description]??.contains("Unregistered") == true)
    #expect(table[revived.description] == .some(nil), "a tombstone")
    #expect(table[kept.description] == nil)
    #expect(fixture.invalid(atLeast: 1).map(\.device.token) == [invalid.token])
  }

  @Test func `with the tombstone of its registration all that is known of a device goes`() throws {
    let fixture = try Fixture()
    try fixture.kafka.createTopic("receipts", partitions: 1)
    let (gone, other) = (Fixture.device(1), Fixture.device(2))
    let service = try fixture.start(flags: ["--keep-receipts", "7d"])
    defer { service.stop() }
    let ann = DeviceDetails(user: "ann")
    try fixture.send(
      [gone, other].map { DeviceRecord(device: $0, event: .registered(at: 500), details: ann) })
    #expect(eventually { service.counter("devices") == 2 })
    try fixture.send([gone, other].map { Fixture.feedback($0) })
    #expect(fixture.invalid(atLeast: 2).count == 2)
    try fixture.produce(fixture.names.devices, [(gone.bytes, nil), (Array("?".utf8), nil)])
    #expect(eventually { service.counter("forgotten") == 2 })
    let reader = try TokenStoreReader(fixture.database)
    #expect(
      try eventually { try reader.devices(token: gone.token).isEmpty },
      "neither a registration nor a mark nor a history")
    #expect(try reader.devices(ofUser: "ann").map(\.device.token) == [other.token])
    #expect(try fixture.published(keys: 2)[gone.description] == .some(nil), "a tombstone")
    let store = try TokenStore(fixture.database, now: 1)
    #expect(try store.firstForgotten() != nil, "its receipts are to be looked for")
  }

  @Test func `a tombstone that is read again takes no mark back that came later`() throws {
    let fixture = try Fixture()
    let device = Fixture.device(1)
    let now = WallClock.milliseconds()
    try fixture.produce(fixture.names.devices, [(device.bytes, nil)])
    letPass(milliseconds: 5)
    try fixture.send([Fixture.feedback(device, timestamp: now + 60_000, sentAt: now + 3_600_000)])
    let service = try fixture.start()
    defer { service.stop() }
    #expect(eventually { service.counter("feedback") == 1 })
    #expect(eventually { service.counter("forgotten") == 1 })
    #expect(fixture.invalid(atLeast: 1).count == 1)
  }

  @Test func `a bad record becomes a dead letter with its reason and the rest goes on`() throws {
    let fixture = try Fixture()
    let good = Fixture.feedback(Fixture.device(1))
    try fixture.produce(
      fixture.names.feedback,
      [
        (Array("k".utf8), Array("{".utf8)), (Array("wrong key".utf8), good.value),
        (good.key, good.value),
      ])
    try fixture.produce(fixture.names.devices, [(Array("k".utf8), Array("{}".utf8))])
    let service = try fixture.start()
    defer { service.stop() }
    #expect(fixture.invalid(atLeast: 1).count == 1)
    let letters = try fixture.kafka.read(fixture.names.deadLetters, count: 3)
    #expect(letters.count == 3)
    func header(_ letter: ReadRecord, _ name: String) -> String {
      String(decoding: letter.headers.first { $0.name == name }?.value ?? [], as: UTF8.self)
    }
    #expect(
      letters.map { header($0, "martlet-reason") }.sorted()
        == ["invalid_device", "invalid_feedback", "invalid_feedback"])
    let wrongKey = try #require(letters.first { $0.key == "wrong key" })
    #expect(wrongKey.value == String(decoding: good.value, as: UTF8.self))
    #expect(header(wrongKey, "martlet-detail").contains("key"))
    #expect(header(wrongKey, "martlet-stage") == "feedback")
    #expect(header(wrongKey, "martlet-origin").hasPrefix(fixture.names.feedback + "/"))
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 3 })
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a locked database stops consumption and nothing is skipped`(kind: DatabaseKind) throws {
    let fixture = try Fixture(kind)
    let service = try fixture.start()
    defer { service.stop() }
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    #expect(fixture.invalid(atLeast: 1).count == 1)
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 1 })
    let lock = try TokenStore(fixture.database, now: 1)
    try lock.transaction { () throws(StoreError) in
      let isSent = (try? fixture.send((2...50).map { Fixture.feedback(Fixture.device($0)) })) != nil
      #expect(isSent)
      #expect(eventually { service.counter("database_retries") > 0 })
      letPass(milliseconds: 500)
      let committed = try? fixture.committed(fixture.names.feedback)
      #expect(committed == 1, "nothing is committed that the database does not have")
    }
    #expect(fixture.invalid(atLeast: 50).count == 50)
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 50 })
  }

  @Test(arguments: DatabaseKind.allCases)
  func `another process that takes over finds the database and loses nothing`(kind: DatabaseKind)
    throws
  {
    let fixture = try Fixture(kind)
    let first = try fixture.start()
    let devices = (1...400).map { Fixture.device($0) }
    try fixture.send(devices.prefix(200).map { Fixture.feedback($0) })
    #expect(fixture.invalid(atLeast: 200).count == 200)
    let second = try fixture.start()
    defer { second.stop() }
    try fixture.send(devices.suffix(200).map { Fixture.feedback($0) })
    first.stop()
    #expect(fixture.invalid(atLeast: 400).count == 400)
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 400 })
    #expect(first.failure == nil)
    #expect(Set(try fixture.published(keys: 400).keys) == Set(devices.map(\.description)))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `two processes that share a database share the partitions and never judge by half of it`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind, partitions: 3)
    let services = [try fixture.start(), try fixture.start()]
    defer { for service in services { service.stop() } }
    let devices = (1...60).map { Fixture.device($0) }
    try fixture.send(devices.map { DeviceRecord(device: $0, event: .registered(at: 5_000)) })
    try fixture.send(devices.map { Fixture.feedback($0) })
    try expectEventually {
      let read = try fixture.committed(fixture.names.feedback, partitions: 3)
      let registered = try fixture.committed(fixture.names.devices, partitions: 3)
      return read == 60 && registered == 60
    }
    #expect(services.allSatisfy { $0.failure == nil })
    #expect(services.reduce(0) { $0 + $1.counter("invalidated") } == 0)
    #expect(try TokenStoreReader(fixture.database).invalidCount() == 0)
  }
}
