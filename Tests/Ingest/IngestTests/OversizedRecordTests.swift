// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import ServiceKit
import TestSupport
import Testing

/// Topics whose `max.message.bytes` is less than what is written to them.
@Suite struct OversizedRecordTests {
  private func header(_ record: ReadRecord, _ name: String) -> String? {
    record.headers.first { $0.name == name }.map { String(decoding: $0.value, as: UTF8.self) }
  }

  /// A cluster with one request, whose first record is refused: as a part of its batch, and alone.
  private func refusing(_ request: String) throws -> IngestFixture {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    try fixture.produce(fixture.names.requests, request)
    fixture.kafka.broker!.inject([.messageTooLarge, .messageTooLarge], into: .produce)
    return fixture
  }

  @Test
  func `a notification that its topic does not take is a dead letter, and ingest goes on`() throws {
    let fixture = try refusing(IngestFixture.request(#","id":"big""#))
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(header(letter, DeadLetterHeader.reason) == "record_too_large")
    #expect(header(letter, DeadLetterHeader.stage) == "ingest")
    #expect(header(letter, DeadLetterHeader.origin) == "\(fixture.names.requests)/0/0")
    let detail = try #require(header(letter, DeadLetterHeader.detail))
    #expect(detail.contains(" bytes, more than topic \(fixture.names.notifications(.first)) takes"))
    #expect(letter.key == IngestFixture.token, "the notification, which a replay sends")
    #expect(letter.value?.hasPrefix("M2\ttransactional\t") == true)
    let receipts = try fixture.receipts(count: 1)
    #expect(receipts.map(\.outcome) == [.deadLettered])
    #expect(receipts[0].apnsID.map { "\($0)" } == header(letter, DeadLetterHeader.apnsID))
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"next""#))
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    #expect(try eventually { try fixture.committed(requestPartitions: 1) == 2 })
    #expect(ingest.counter("too_large") == 1)
    #expect(ingest.stop() == nil)
  }

  @Test
  func `a request that the schedule's topic does not take is a dead letter, as it came`() throws {
    let fixture = try IngestFixture(requestPartitions: 1, scheduleBytes: 1_000)
    // What no compression makes small.
    let text = String((0..<3_000).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement()! })
    let later = WallClock.milliseconds() / 1_000 + 3_600
    let request =
      #"{"app":"com.example.app","id":"big \"one\"","group":"sale","user":"ann","send_at":\#(later),"payload":{"aps":{"alert":"\#(text)"}}}"#
    try fixture.produce(fixture.names.requests, request)
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(header(letter, DeadLetterHeader.reason) == "record_too_large")
    #expect(header(letter, DeadLetterHeader.requestID) == #"big "one""#)
    let detail = header(letter, DeadLetterHeader.detail) ?? ""
    #expect(detail.hasPrefix("the request has "), "\(detail)")
    #expect(detail.contains(" bytes, more than topic \(fixture.names.schedule) takes"))
    #expect(letter.value == request, "a replay sends it")
    let receipts = try fixture.receipts(count: 1)
    #expect(receipts.map(\.outcome) == [.deadLettered])
    #expect(receipts[0].id == #"big "one""# && receipts[0].app == "com.example.app")
    #expect(receipts[0].carried[.group] == "sale")
    #expect(try eventually { try fixture.committed(requestPartitions: 1) == 1 })
    #expect(ingest.counter("too_large") == 1)
    #expect(ingest.stop() == nil)
  }

  @Test func `a dead letter that its topic does not take is cut`() throws {
    let long = String(repeating: "x", count: 100_000)
    let fixture = try refusing(#"{"unknown":"\#(long)"}"#)
    let ingest = try fixture.start()
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(header(letter, DeadLetterHeader.reason) == "invalid_request")
    #expect(letter.value?.utf8.count == 64 << 10)
    #expect(header(letter, DeadLetterHeader.detail).map(DeadLetterCut.isRemarked) == true)
    #expect(try eventually { try fixture.committed(requestPartitions: 1) == 1 })
    #expect(ingest.stop() == nil)
  }

  @Test func `a dead letter that the client does not take is cut, and ingest goes on`() throws {
    let fixture = try IngestFixture(requestPartitions: 1)
    let long = String(repeating: "x", count: 200_000)
    try fixture.produce(fixture.names.requests, #"{"unknown":"\#(long)"}"#)
    try fixture.produce(fixture.names.requests, IngestFixture.request())
    let ingest = try fixture.start(producer: [("message.max.bytes", "150000")])
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    #expect(letter.value?.utf8.count == DeadLetterCut.kept)
    #expect(header(letter, DeadLetterHeader.detail).map(DeadLetterCut.isRemarked) == true)
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed(requestPartitions: 1) == 2)
  }

  @Test func `receipts that their topic does not take end ingest, which names it and the remedy`()
    throws
  {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"one""#))
    let ingest = try fixture.start()
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    #expect(ingest.stop() == nil)
    let invalid = IngestFixture.request(#","id":"two""#, token: "zz")
    try fixture.produce(fixture.names.requests, invalid)
    // The dead letter comes first, and then the receipt about it.
    fixture.kafka.broker!.inject(
      [.invalidRecord, .invalidRecord, .invalidRecord, .invalidRecord], into: .produce)
    let second = try fixture.start()
    #expect(eventually { second.hasEnded })
    let failure = try #require(second.stop()).description
    #expect(failure.contains("topic \(fixture.kafka.prefix)"), "\(failure)")
    #expect(failure.contains("bytes:") && failure.contains("cleanup.policy"), "\(failure)")
  }
}
