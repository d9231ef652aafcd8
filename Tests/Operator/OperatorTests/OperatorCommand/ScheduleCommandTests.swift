// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
import ServiceKit
import Settings
import Store
import TestSupport
import Testing

@testable import OperatorCommand

/// `martlet schedule cancel`; what `list` reads is tested with the store.
@Suite struct ScheduleCommandTests {
  /// `schedule cancel order:1`, with a topic of its own.
  private static func cancelling(
    _ flags: [String] = []
  ) throws -> (fixture: KafkaFixture, cancel: () throws -> Void) {
    let fixture = try KafkaFixture(topics: [("schedule", 1)])
    let kafka = ["--topic-prefix", fixture.prefix, "--kafka", fixture.configuration.bootstrap]
    let context = try ScheduleCancelCommand.context(["order:1", "--app", "a.b"] + kafka + flags)
    let settings = try ScheduleCancelCommand.settings(context.values)
    return (fixture, { try ScheduleCancelCommand.run(settings, context) })
  }

  @Test func `cancel writes who has cancelled what`() throws {
    let (fixture, cancel) = try Self.cancelling()
    // Nobody knows it: the cancellation is written for one that is on its way, and the command says so.
    let unknown = #expect(throws: ServiceFailure.self) { try cancel() }
    #expect("\(unknown!)".contains("never scheduled"))
    try fixture.produce(
      fixture.name("schedule"), key: "a.b:production:order:1",
      value: "S1\t1895000000000\t1795000000000\t\t\n{}")
    try cancel()
    try cancel()
    let record = try #require(try fixture.read(fixture.name("schedule"), count: 4).last)
    #expect(record.key == "a.b:production:order:1")
    let value = try Array((record.value ?? "").utf8).withUnsafeBytes { try ScheduleRecord($0) }
    guard case .cancellation(let cancellation) = value else { return #expect(Bool(false)) }
    #expect(cancellation.by.contains("@"))
  }

  @Test func `cancel knows the request that has replaced one that was sent`() throws {
    let (fixture, cancel) = try Self.cancelling()
    let (topic, key) = (fixture.name("schedule"), "a.b:production:order:1")
    let values = [
      "S1\t1790000000000\t1780000000000\t\t\n{}", "S1\t1895000000000\t1795000000000\t\t\n{}",
    ]
    for value in values { try fixture.produce(topic, key: key, value: value) }
    func end(_ value: String) throws {
      let ends = KafkaHeader(ScheduleRecord.endsHeader, "\(ScheduleRow.identity(of: value.utf8))")
      try fixture.produce(topic, key: key, value: nil, headers: [ends])
    }
    try end(values[0])
    try cancel()
    try fixture.produce(topic, key: key, value: values[1])
    try end(values[1])
    #expect(throws: ServiceFailure.self) { try cancel() }
  }

  @Test func `cancel says when it may be too late`() throws {
    let (fixture, cancel) = try Self.cancelling()
    try fixture.produce(
      fixture.name("schedule"), key: "a.b:production:order:1",
      value: "S1\t1790000000000\t1780000000000\t\t\n{}")
    let late = #expect(throws: ServiceFailure.self) { try cancel() }
    #expect("\(late!)".contains("may have been sent"))
    let record = try #require(try fixture.read(fixture.name("schedule"), count: 2).last)
    #expect(record.value?.hasPrefix("C1\t") == true)
  }

  @Test func `cancel does not ask a database that the schedule is being read into`() throws {
    let folder = TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = folder.file("schedule.db")
    let (fixture, cancel) = try Self.cancelling(["--database", database])
    let store = try ScheduleStore(TokenStore(database, now: 0))
    try store.startOver(0)
    let early = #expect(throws: ServiceFailure.self) { try cancel() }
    #expect("\(early!)".hasPrefix("nothing was cancelled"), "\(early!)")
    try store.setComplete(0)
    let unknown = #expect(throws: ServiceFailure.self) { try cancel() }
    #expect("\(unknown!)".contains("never scheduled"), "\(unknown!)")
    let record = try #require(try fixture.read(fixture.name("schedule"), count: 1).last)
    #expect(record.offset == 0 && record.value?.hasPrefix("C1\t") == true)
  }

  @Test func `a request is named by its app`() throws {
    func settings(_ flags: [String]) throws -> ScheduleListCommand.Settings {
      try ScheduleListCommand.settings(
        ScheduleListCommand.values(["x", "--database", "x.db"] + flags))
    }
    #expect(throws: SettingErrors.self) { try settings([]) }
    #expect(throws: SettingErrors.self) { try settings(["--app", "a b"]) }
    #expect(
      try settings(["--app", "a.b", "--environment", "sandbox"]).key?.description
        == "a.b:sandbox:x")
    #expect(try settings(["--app", "a.b"]).key?.environment == .production)
  }

  @Test func `only the requests of the app that is named are counted`() throws {
    let folder = TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let database = folder.file("schedule.db")
    let store = try ScheduleStore(TokenStore(database, now: 0))
    let value = "S1\t1895000000000\t1795000000000\t\t\n{}"
    let keys = ["a.b:production:1", "a.b:sandbox:2", "a.c:production:3"]
    let entries = keys.enumerated().map { number, key in
      ScheduledEntry(
        key: ExactText(key),
        row: ScheduleRow(
          offset: Int64(number), identity: ScheduleRow.identity(of: value.utf8),
          kind: .request(due: 1_895_000_000_000, written: 1_795_000_000_000)),
        value: value)
    }
    try store.transaction { () throws(StoreError) in
      try store.put(0, entries)
      try store.setPosition(0, 3)
    }
    func count(_ flags: [String]) throws -> Int {
      let values = try ScheduleListCommand.values(["--database", database, "--count"] + flags)
      return try ScheduleListCommand.settings(values).count(TokenStoreReader(database))
    }
    #expect(try count([]) == 3)
    #expect(try count(["--app", "a.b"]) == 2)
    #expect(try count(["--app", "a.b", "--environment", "sandbox"]) == 1)
  }
}
