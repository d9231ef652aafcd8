// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import Store
import TestSupport
import Testing
import Waiting

@testable import Feedback

@Suite(.serialized) struct FeedbackPublishingTests {
  private typealias Fixture = FeedbackFixture

  @Test func `offsets are committed only after Kafka has what follows from their records`() throws {
    let fixture = try Fixture(embedded: true)
    let broker = try #require(fixture.kafka.broker)
    try fixture.send((1...20).map { Fixture.feedback(Fixture.device($0)) })
    // Only the service produces from now on, and the broker takes nothing of it.
    broker.inject(Array(repeating: .notEnoughReplicas, count: 100_000), into: .produce)
    let service = try fixture.start()
    defer { service.stop() }
    // At least the first batch; another one is not judged before Kafka has what follows from it.
    #expect(eventually { service.counter("invalidated") > 0 })
    letPass(milliseconds: 700)
    #expect(try TokenStoreReader(fixture.database).invalidCount() == 0)
    #expect(service.counter("published") == 0)
    #expect(try fixture.committed(fixture.names.feedback) <= 0)
    broker.clearFaults(of: .produce)
    #expect(try fixture.published(keys: 20).count == 20)
    try expectEventually {
      try fixture.committed(fixture.names.feedback) == 20
    }
  }

  @Test
  func `records read again after a crash change nothing in the database or in the table`() throws {
    let fixture = try Fixture()
    let (invalid, revived) = (Fixture.device(1), Fixture.device(2))
    func send() throws {
      try fixture.send([Fixture.feedback(invalid), Fixture.feedback(revived)])
      try fixture.send([DeviceRecord(device: revived, event: .registered(at: 1_500))])
    }
    try send()
    let service = try fixture.start()
    defer { service.stop() }
    #expect(eventually { service.counter("feedback") == 2 && service.counter("devices") == 1 })
    let first = fixture.invalid(atLeast: 1)
    // The same records once more are what a crash before the commit leads to.
    try send()
    #expect(eventually { service.counter("feedback") == 4 && service.counter("devices") == 2 })
    #expect(first.map(\.device.token) == [invalid.token])
    #expect(fixture.invalid(atLeast: 1) == first)
    #expect(try eventually { try fixture.committed(fixture.names.feedback) == 4 })
    let table = try fixture.published(keys: 1)
    #expect(table[invalid.description]??.contains("\"invalid_since\":1000") == true)
    #expect(table[revived.description]?.flatMap { $0 } == nil)
  }

  @Test func `dead letters that their topic does not take are cut, each of them once`() throws {
    let fixture = try Fixture(letterBytes: 10_000)
    var random = SeededGenerator(seed: 1)
    var values: [[UInt8]] = []
    for _ in 0..<4 {
      // What no compression makes small.
      values.append((0..<20_000).map { _ in UInt8(0x61 + random.next() % 26) })
    }
    try fixture.produce(fixture.names.feedback, values.map { (Array("key".utf8), $0) })
    let service = try fixture.start()
    let letters = try fixture.kafka.read(
      fixture.names.deadLetters, count: 4, timeoutMilliseconds: 30_000)
    #expect(letters.allSatisfy { DeadLetterCut.isRemarked(DeadLetter($0.headers).detail) })
    let beginnings = values.map { String(decoding: $0.prefix(1_024), as: UTF8.self) }
    #expect(letters.compactMap(\.value).sorted() == beginnings.sorted())
    try expectEventually {
      try fixture.committed(fixture.names.feedback) == 4
    }
    #expect(service.stop() == nil)
  }
}
