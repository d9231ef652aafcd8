// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import ServiceKit
import Store
import TestSupport
import Testing

/// Ingest and the scheduler on a broker: a request with a time goes to the schedule, and out again.
@Suite struct SchedulerTests {
  @Test(arguments: DatabaseKind.allCases)
  func `a request is sent at its time, and once`(_ kind: DatabaseKind) throws {
    let fixture = try SchedulerFixture()
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(kind.location(in: fixture.folder))
    let due = fixture.due(in: 9_000, for: ingest, scheduler)
    try fixture.request("now", sendAt: due - 60_000)
    try fixture.request("later", sendAt: due)
    #expect(eventually { scheduler.counter("scheduled") == 1 })
    try expectEventually { try fixture.sent().contains { $0.id == "now" } }
    try expectEventually {
      try fixture.sent().contains { $0.id == "later" }
    }
    let sent = try fixture.sent().filter { $0.id == "later" }
    #expect(sent.count == 1 && sent[0].at >= due && sent[0].at < due + 30_000, "\(sent) \(due)")
    // The row has gone, and the topic ends with a tombstone.
    #expect(eventually { scheduler.counter("loaded") == 0 })
    let records = try fixture.readAll(fixture.names.schedule)
    #expect(records.last?.value == nil && records.count == 2)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  /// `String` takes the ids of a pair for the same; Kafka, the database and APNs do not.
  @Test(arguments: DatabaseKind.allCases)
  func `ids of other bytes but equal text are requests of their own`(_ kind: DatabaseKind) throws {
    let fixture = try SchedulerFixture()
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(kind.location(in: fixture.folder))
    let due = fixture.due(in: 9_000, for: ingest, scheduler)
    let ids = (0..<20).flatMap { ["caf\u{E9}-\($0)", "cafe\u{301}-\($0)"] }.map(\.exact)
    for id in ids { try fixture.request(id.text, sendAt: due) }
    #expect(eventually { scheduler.counter("scheduled") == 40 })
    #expect(try eventually { try fixture.sent().count >= 40 })
    #expect(Set(try fixture.sent().map(\.id.exact)) == Set(ids))
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test func `a cancelled request is not sent, also when the cancellation came first`() throws {
    let fixture = try SchedulerFixture()
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    let due = fixture.due(in: 15_000, for: scheduler)
    try fixture.request("early", sendAt: due)
    usleep(5_000)
    // Ingest does not run yet: the cancellation is on the topic before the request.
    try fixture.cancel("early")
    let ingest = try fixture.ingest()
    try fixture.request("a", sendAt: due)
    try fixture.request("b", sendAt: due)
    #expect(eventually { scheduler.counter("scheduled") == 2 })
    try fixture.cancel("a")
    #expect(
      try eventually { try fixture.sent().contains { $0.id == "b" } })
    usleep(500_000)
    #expect(try fixture.sent().map(\.id) == ["b"])
    #expect(scheduler.counter("cancelled") == 2)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test(arguments: [false, true])
  func `what was due while no scheduler ran is sent when one starts, also on a new disk`(
    _ isNewDisk: Bool
  ) throws {
    let fixture = try SchedulerFixture()
    let ingest = try fixture.ingest()
    let first = try fixture.scheduler(fixture.folder.file("a.db"))
    let due = fixture.due(in: 12_000, for: ingest, first)
    for index in 0..<20 { try fixture.request("r\(index)", sendAt: due) }
    try fixture.request("cancelled", sendAt: due)
    #expect(eventually { first.counter("scheduled") == 21 })
    // The commits follow.
    usleep(500_000)
    #expect(first.stop() == nil)
    #expect(try fixture.sent().isEmpty)
    try fixture.cancel("cancelled")
    while WallClock.milliseconds() < due { usleep(10_000) }
    let second = try fixture.scheduler(fixture.folder.file(isNewDisk ? "b.db" : "a.db"))
    #expect(try eventually { try fixture.sent().count >= 20 })
    usleep(300_000)
    #expect(Set(try fixture.sent().map(\.id)) == Set((0..<20).map { "r\($0)" }))
    #expect((second.counter("rebuilds") > 0) == isNewDisk)
    #expect(ingest.stop() == nil && second.stop() == nil)
  }

  @Test
  func `a request that is released early by a wrong clock is handed back and sent at its time`()
    throws
  {
    let fixture = try SchedulerFixture()
    let ingest = try fixture.ingest()
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    let due = fixture.due(in: 12_000, for: ingest, scheduler)
    // As a scheduler whose clock is ahead releases it.
    let json =
      #"{"app":"com.example.app","id":"a","token":"\#(SchedulerFixture.token)","payload":{"aps":{"alert":"x"}},"#
      + #""send_at":\#(due / 1_000 + 1)}"#
    try fixture.produce(
      fixture.names.requests, json,
      headers: [KafkaHeader(ScheduledRequest.header, "\(due - 60_000)")])
    #expect(eventually { scheduler.counter("handed_back") == 1 })
    #expect(try fixture.sent().isEmpty)
    #expect(try eventually { try fixture.sent().count == 1 })
    #expect(try fixture.sent()[0].at >= due)
    let record = try fixture.readAll(fixture.names.schedule)[0]
    #expect(record.value?.hasPrefix("S1\t\((due / 1_000 + 1) * 1_000)\t\(due - 60_000)\t") == true)
    #expect(ingest.stop() == nil && scheduler.stop() == nil)
  }

  @Test
  func `a record that cannot be read becomes a dead letter, and what its key had stays`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let topic = fixture.names.schedule
    let good = "S1\t\(WallClock.milliseconds() + 3_600_000)\t1000000000000\t\t\n{\"id\":\"x\"}"
    try fixture.produce(topic, key: "a.b:production:x", good)
    try fixture.produce(topic, key: "a.b:production:x", "S9\t1")
    try fixture.produce(topic, key: "nonsense", "S1\t1\t1\t\t\n{}")
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    #expect(try eventually { try fixture.readAll(topic).count == 5 })
    try expectEventually { try fixture.readAll(fixture.names.deadLetters).count == 2 }
    let letters = try fixture.readAll(fixture.names.deadLetters)
    #expect(scheduler.counter("unreadable") == 2)
    let letter = try #require(letters.first { $0.value == "S9\t1" })
    let headers = DeadLetter(letter.headers)
    #expect(letter.key == "a.b:production:x" && headers.reason == "invalid_schedule")
    #expect(headers.stage == "scheduler" && headers.origin?.description == "\(topic)/0/1")
    // What compaction would drop stands behind, and what nobody can read is ended.
    let records = try fixture.readAll(topic)
    #expect(records.contains { $0.offset > 2 && $0.value == good })
    #expect(records.contains { $0.key == "nonsense" && $0.value == nil })
    #expect(scheduler.stop() == nil)
  }

  @Test func `a request that is too large for its topic becomes a dead letter, and others leave`()
    throws
  {
    let fixture = try SchedulerFixture(partitions: 1, requestBytes: 1_020_000)
    var kafka = fixture.kafka.configuration
    kafka.preferRecordsOfAnySize()
    let producer = try KafkaProducer(kafka)
    defer { producer.close() }
    let (topic, now) = (fixture.names.schedule, WallClock.milliseconds())
    // The first one is larger than librdkafka takes by itself.
    for (id, size) in [("large", 1_010_000), ("larger", 1_030_000), ("small", 10)] {
      try fixture.kafka.produce(
        producer, producer.topic(named: topic), key: "a.b:production:\(id)",
        value: "S1\t\(now)\t\(now)\t\t\n{\"id\":\"\(id)\",\"x\":\"\(incompressible(size))\"}")
    }
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    try expectEventually { try fixture.readAll(fixture.names.requests).count == 2 }
    try expectEventually { try fixture.readAll(fixture.names.deadLetters).count == 1 }
    let letter = try fixture.readAll(fixture.names.deadLetters)[0]
    let headers = DeadLetter(letter.headers)
    #expect(letter.key == "a.b:production:larger" && headers.reason == "record_too_large")
    #expect(headers.origin?.description == "\(topic)/0/1")
    try expectEventually { try fixture.readAll(topic).count { $0.value == nil } == 3 }
    #expect(scheduler.counter("unreadable") == 1 && scheduler.stop() == nil)
  }

  @Test func `a dead letter that is too large for its topic is cut`() throws {
    let fixture = try SchedulerFixture(partitions: 1, requestBytes: 300_000, letterBytes: 300_000)
    let (topic, now) = (fixture.names.schedule, WallClock.milliseconds())
    // One cannot be released, the other not be read.
    for line in ["S1\t\(now)\t\(now)\t\t", "S1\tnonsense"] {
      try fixture.produce(
        topic, key: "a.b:production:\(line.count)",
        "\(line)\n{\"id\":\"x\",\"x\":\"\(incompressible(400_000))\"}")
    }
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    try expectEventually { try fixture.readAll(topic).count { $0.value == nil } == 2 }
    let letters = try fixture.readAll(fixture.names.deadLetters)
    #expect(letters.map { $0.value?.utf8.count } == [DeadLetterCut.kept, DeadLetterCut.kept])
    #expect(letters.allSatisfy { DeadLetter($0.headers).detail.contains("value cut to") })
    #expect(scheduler.counter("unreadable") == 2)
    #expect(scheduler.stop() == nil)
  }

  @Test func `a request stays in the schedule while its dead letter is too large as well`() throws {
    let fixture = try SchedulerFixture(partitions: 1, requestBytes: 300_000, letterBytes: 100)
    let (topic, now) = (fixture.names.schedule, WallClock.milliseconds())
    try fixture.produce(
      topic, key: "a.b:production:x",
      "S1\t\(now)\t\(now)\t\t\n{\"id\":\"x\",\"x\":\"\(incompressible(400_000))\"}")
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    expectEventually { scheduler.hasEnded }
    #expect(scheduler.stop()?.description.contains(fixture.names.deadLetters) == true)
    #expect(try fixture.readAll(topic).map { $0.value != nil } == [true])
  }

  /// A text that LZ4 does not make shorter.
  private func incompressible(_ count: Int) -> String {
    var state: UInt64 = 1
    let bytes = (0..<count).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(ascii: "0") + UInt8(truncatingIfNeeded: state >> 58)
    }
    return String(decoding: bytes, as: UTF8.self).replacing("\\", with: "z")
  }

  @Test func `a request that waits by a clock that was ahead gets its own time when that is right`()
    throws
  {
    let fixture = try SchedulerFixture(partitions: 1)
    let database = fixture.folder.file("a.db")
    let ingest = try fixture.ingest()
    let first = try fixture.scheduler(database)
    #expect(eventually { first.counter("partitions_assigned") == 1 })
    usleep(500_000)
    let now = WallClock.milliseconds()
    // By ingest's clock it is early by more than five minutes: it waits for these.
    let json =
      #"{"app":"a.b","id":"x","token":"\#(SchedulerFixture.token)","payload":{"aps":{"alert":"x"}}}"#
    try fixture.produce(
      fixture.names.schedule, key: "a.b:production:x",
      "S1\t\(now - 1_000)\t\(now - 9_000)\t\(now - 400_000)\t\n\(json)")
    #expect(eventually { first.counter("handed_back") == 1 })
    usleep(500_000)
    #expect(first.stop() == nil)
    #expect(try fixture.sent().isEmpty)
    // As a clock that is ahead by ten minutes noted it.
    let store = try ScheduleStore(TokenStore(database, now: 0))
    let entry = try #require(try store.entries(0, ["a.b:production:x"])["a.b:production:x"])
    var row = entry.row
    guard case .handedBack(let due, let requeue, let read) = row.kind else {
      return #expect(Bool(false))
    }
    #expect(due >= now + 300_000)
    row.kind = .handedBack(due: due + 600_000, requeue, read: read + 600_000)
    try store.put(0, [ScheduledEntry(key: entry.key, row: row, value: entry.value)])
    let second = try fixture.scheduler(database)
    #expect(try eventually { try fixture.sent().count == 1 })
    #expect(second.counter("rebuilds") == 0)
    #expect(second.stop() == nil && ingest.stop() == nil)
  }

  @Test func `what was written again long ago is not written again behind its end`() throws {
    let fixture = try SchedulerFixture(partitions: 1)
    let topic = fixture.names.schedule
    let good = "S1\t\(WallClock.milliseconds() + 3_600_000)\t1000000000000\t\t\n{\"id\":\"x\"}"
    try fixture.produce(topic, key: "a.b:production:x", good)
    // The end of another value: what counts is written again. Then it ends, more than a batch later.
    try fixture.produce(
      topic, key: "a.b:production:x", nil, headers: [KafkaHeader(ScheduleRecord.endsHeader, "7")])
    let handle = try fixture.producer.topic(named: topic)
    for number in 0..<1_200 {
      _ = fixture.producer.produce(
        handle, key: Array("a.b:production:y\(number)".utf8), value: Array(good.utf8), tag: 0)
    }
    #expect(fixture.producer.flush(timeoutMilliseconds: 30_000))
    _ = fixture.producer.drainDeliveries()
    try fixture.produce(topic, key: "a.b:production:x", nil)
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    #expect(eventually { scheduler.counter("scheduled") == 1_201 })
    usleep(500_000)
    #expect(scheduler.counter("restored") == 0)
    #expect(try fixture.readAll(topic).last?.value == nil)
    #expect(scheduler.stop() == nil)
  }

  @Test func `records that cannot be read are counted, and tombstones of any key are none`() throws
  {
    let fixture = try SchedulerFixture()
    let scheduler = try fixture.scheduler(fixture.folder.file("a.db"))
    try fixture.produce(fixture.names.schedule, key: "nonsense", "S1\t1\t1\t\t\n{}")
    try fixture.produce(fixture.names.schedule, key: "a.b:production:x", "S9\t1")
    try fixture.produce(fixture.names.schedule, key: "a.b:production:x", "S1\tx\t1\t\t\n{}")
    try fixture.produce(fixture.names.schedule, key: "a.b:production:x", nil)
    #expect(eventually { scheduler.counter("unreadable") == 3 })
    #expect(scheduler.stop() == nil)
  }
}
