// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import Store
import TestSupport
import Testing

@testable import Feedback

/// Several processes, each with a database of its own: what counts is on the topics.
@Suite(.serialized) struct FeedbackHostsTests {
  /// Partition counts of the topics: alike, and each of its own.
  private static let counts: [[String: Int]] = [
    [:], ["feedback": 5, "devices": 3, "invalid-tokens": 2],
  ]

  private typealias Fixture = FeedbackFixture

  /// What `invalid-tokens` says of a device in the end: its value, nil for a tombstone.
  private func mark(_ fixture: Fixture, _ device: DeviceKey) throws -> String? {
    try fixture.published(keys: 1)[device.description].flatMap { $0 }
  }

  private func invalid(_ path: String) -> Set<String> {
    Set(((try? TokenStoreReader(path).invalidDevices()) ?? []).map(\.device.token))
  }

  @Test(arguments: counts)
  func `a second host with an empty disk declares nothing invalid that was registered later`(
    counts: [String: Int]
  ) throws {
    let fixture = try Fixture(counts: counts)
    let first = try fixture.start()
    defer { first.stop() }
    let valid = (1...40).map { Fixture.device($0) }
    let invalid = (101...120).map { Fixture.device($0) }
    try fixture.send(valid.map { DeviceRecord(device: $0, event: .registered(at: 5_000)) })
    try expectEventually {
      try fixture.committed(fixture.names.devices, partitions: counts["devices"] ?? 4) == 40
    }
    let other = fixture.folder.file("other.db")
    let second = try fixture.start(database: other)
    defer { second.stop() }
    func judged(_ counter: String) -> Int { first.counter(counter) + second.counter(counter) }
    // Until the second one has its share of the partitions.
    var sent = 0
    try expectEventually {
      try fixture.send((valid + invalid).map { Fixture.feedback($0) })
      sent += valid.count + invalid.count
      return eventually(withinMilliseconds: 2_000) { judged("feedback") >= sent }
        && second.counter("feedback") > 0
    }
    #expect(judged("invalidated") >= invalid.count)
    #expect(eventually { self.invalid(fixture.database) == Set(invalid.map(\.token)) })
    #expect(eventually { self.invalid(other) == Set(invalid.map(\.token)) })
    let table = try fixture.published(keys: invalid.count)
    #expect(Set(table.filter { $0.value != nil }.keys) == Set(invalid.map(\.description)))
  }

  @Test(arguments: counts)
  func `an invalid mark that comes after its tombstone is taken back`(counts: [String: Int]) throws
  {
    let fixture = try Fixture(counts: counts)
    let device = Fixture.device(1)
    try fixture.send([Fixture.feedback(device)])
    try fixture.send([DeviceRecord(device: device, event: .registered(at: 5_000))])
    let service = try fixture.start()
    defer { service.stop() }
    #expect(eventually { service.counter("devices") == 1 })
    // What a process that stood still had in its producer.
    let late = InvalidTokenRecord(
      device: device, invalidSince: 1_000, reason: "Unregistered", at: 2_000)
    try fixture.produce(fixture.names.invalidTokens, [(late.key, late.value)])
    #expect(try eventually { try mark(fixture, device) == nil })
    #expect(eventually { self.invalid(fixture.database).isEmpty })
  }

  @Test func `a registration counts in whatever partition its producer put it`() throws {
    let fixture = try Fixture()
    var configuration = fixture.kafka.configuration
    configuration.producerPreferences.append(("partitioner", "consistent"))
    let producer = try KafkaProducer(configuration)
    defer { producer.close() }
    let topic = try producer.topic(named: fixture.names.devices)
    let devices = (1...40).map { Fixture.device($0) }
    for device in devices {
      let record = DeviceRecord(device: device, event: .registered(at: 5_000))
      _ = record.key.withUnsafeBytes { key in
        record.value.withUnsafeBytes { producer.produce(topic, key: key, value: $0, tag: 0) }
      }
    }
    #expect(producer.flush(timeoutMilliseconds: 30_000))
    let services = [
      try fixture.start(), try fixture.start(database: fixture.folder.file("other.db")),
    ]
    defer { for service in services { service.stop() } }
    func judged(_ counter: String) -> Int { services.reduce(0) { $0 + $1.counter(counter) } }
    var sent = 0
    try expectEventually {
      try fixture.send(devices.map { Fixture.feedback($0) })
      sent += devices.count
      return eventually(withinMilliseconds: 2_000) { judged("feedback") >= sent }
        && services.allSatisfy { $0.counter("feedback") > 0 }
    }
    #expect(judged("invalidated") == 0)
    #expect(judged("kept") == judged("feedback"))
  }

  /// One of them owns the partition of the tombstone. What the other has heard of the device is in its database alone.
  @Test func `each process forgets what its own database has of an erased device`() throws {
    let fixture = try Fixture(counts: ["devices": 1])
    let (device, now) = (Fixture.device(1), WallClock.milliseconds())
    let stores = try [fixture.database, fixture.folder.file("other.db")].map { path in
      let store = try TokenStore(path, now: now, busyTimeout: 10_000)
      try store.put(
        device,
        Suspicion(
          firstAt: now, lastAt: now, lastSentAt: now, count: 1, reason: "BadDeviceToken"))
      try store.set(ReceiptKeeping(since: now, retention: 86_400_000))
      try store.transaction { () throws(StoreError) in
        try store.keep([
          KeptReceipt(
            place: .init(partition: 0, offset: 0, line: 1), at: now, app: device.app,
            requestID: "r", apnsID: nil, receipt: #"{"token":"\#(device.token)"}"#)
        ])
      }
      return store
    }
    let services = [
      try fixture.start(), try fixture.start(database: fixture.folder.file("other.db")),
    ]
    defer { for service in services { service.stop() } }
    try fixture.produce(fixture.names.devices, [(device.bytes, nil)])
    for store in stores {
      try expectEventually {
        try store.suspicion(device) == nil && store.firstForgotten() != nil
      }
    }
  }

  @Test func `a lost disk ends in the rows that were on it`() throws {
    let fixture = try Fixture()
    let first = try fixture.start()
    let (kept, invalid, revived) = (Fixture.device(1), Fixture.device(2), Fixture.device(3))
    try fixture.send([invalid, revived].map { Fixture.feedback($0) })
    #expect(fixture.invalid(atLeast: 2).count == 2)
    try fixture.send([
      DeviceRecord(device: kept, event: .registered(at: 5_000)),
      DeviceRecord(device: invalid, event: .registered(at: 500)),
    ])
    #expect(eventually { first.counter("devices") == 2 })
    first.stop()
    let new = fixture.folder.file("new.db")
    let second = try fixture.start(database: new)
    defer { second.stop() }
    // Only who knows the mark can take it back.
    try fixture.send([DeviceRecord(device: revived, event: .registered(at: 5_000))])
    try fixture.send([Fixture.feedback(kept)])
    #expect(eventually { second.counter("kept") == 1 })
    #expect(try eventually { try mark(fixture, revived) == nil })
    #expect(eventually { self.invalid(new) == [invalid.token] })
  }
}
