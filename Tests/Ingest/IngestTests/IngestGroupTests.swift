// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import EventLoop
import Kafka
import Records
import TestSupport
import Testing
import Waiting

@Suite struct IngestGroupTests {
  private func ids(_ records: [ReadRecord]) throws -> [NotificationID] {
    try records.map { try Envelope.parse(Array(($0.value ?? "").utf8).span).id }
  }

  private func requests(_ range: Range<Int>) -> [String] {
    range.map { IngestFixture.request(#","id":"r\#($0)""#) }
  }

  @Test func `ingest goes on where it stopped: everything is committed, nothing made twice`() throws
  {
    let fixture = try IngestFixture()
    try fixture.request(requests(0..<300))
    let first = try fixture.start()
    #expect(try fixture.read(fixture.names.notifications(.first), count: 300).count == 300)
    #expect(first.stop() == nil)
    #expect(try fixture.committed() == 300)
    try fixture.request(requests(300..<400))
    let second = try fixture.start()
    let records = try fixture.read(fixture.names.notifications(.first), count: 400)
    #expect(second.stop() == nil)
    #expect(try fixture.readAll(fixture.names.notifications(.first)).count == 400)
    #expect(Set(try ids(records)).count == 400)
    #expect(second.counter("requests") == 100)
  }

  @Test
  func `shares the work when a second one joins and when the first one leaves, losing nothing`()
    throws
  {
    let fixture = try IngestFixture()
    let total = 3_000
    let first = try fixture.start()
    try fixture.request(requests(0..<1_000))
    #expect(eventually { first.counter("requests") > 0 })
    let second = try fixture.start()
    try fixture.request(requests(1_000..<2_000))
    #expect(
      // Not too many: without a sender the embedded broker's lane fills, and ingest holds back.
      try eventually(pauseMilliseconds: 200) {
        try fixture.request(requests(0..<20))
        return second.counter("requests") > 0
      })
    #expect(first.stop() == nil)
    try fixture.request(requests(2_000..<total))
    var distinct: Set<NotificationID> = []
    let isComplete = try eventually(withinMilliseconds: 40_000, pauseMilliseconds: 100) {
      distinct = Set(try ids(fixture.readAll(fixture.names.notifications(.first))))
      return distinct.count == total
    }
    #expect(isComplete, "\(distinct.count) of \(total)")
    #expect(second.stop() == nil)
    #expect(first.counter("requests") > 0)
  }

  @Test
  func `a group that went on without it is joined again, and what was not committed is made again`()
    throws
  {
    let fixture = try IngestFixture(embedded: true)
    try fixture.request(requests(0..<300))
    let ingest = try fixture.start()
    #expect(try fixture.read(fixture.names.notifications(.first), count: 300).count == 300)
    fixture.kafka.broker!.inject([.illegalGeneration], into: .heartbeat)
    #expect(eventually { ingest.counter("assignments_lost") == 1 })
    try fixture.request(requests(300..<600))
    var distinct: Set<NotificationID> = []
    #expect(
      try eventually(withinMilliseconds: 40_000, pauseMilliseconds: 100) {
        distinct = Set(try ids(fixture.readAll(fixture.names.notifications(.first))))
        return distinct.count == 600
      }, "\(distinct.count) of 600")
    #expect(ingest.stop() == nil)
    #expect(try fixture.committed() == 600)
  }

  @Test func `ingest is not behind by what ends a transaction: that is no record`() throws {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true)
    try fixture.request(requests(0..<3))
    try fixture.kafka.endTransaction(on: fixture.names.requests)
    let ingest = try fixture.start()
    #expect(try eventually { try fixture.committed(requestPartitions: 1) == 4 })
    #expect(ingest.counter("requests") == 3)
    #expect(ingest.counter("lost_to_retention") == 0)
    #expect(ingest.stop() == nil)
  }
}
