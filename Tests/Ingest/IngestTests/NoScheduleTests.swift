// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

/// A cluster without the topic of the schedule, which clusters of older builds do not have.
@Suite struct NoScheduleTests {
  @Test
  func `a request for later is a dead letter that names the remedy, and all others go on`() throws {
    let fixture = try IngestFixture(requestPartitions: 1, embedded: true, hasSchedule: false)
    let later = WallClock.milliseconds() / 1_000 + 3_600
    let request = IngestFixture.request(#","id":"later","send_at":\#(later)"#)
    try fixture.produce(fixture.names.requests, request)
    try fixture.produce(fixture.names.requests, IngestFixture.request(#","id":"now""#))
    let first = try fixture.start()
    #expect(try fixture.read(fixture.names.notifications(.first), count: 1).count == 1)
    let letter = try #require(try fixture.read(fixture.names.deadLetters, count: 1).first)
    let detail = letter.headers.first { $0.name == DeadLetterHeader.detail }
    let text = detail.map { String(decoding: $0.value, as: UTF8.self) } ?? ""
    #expect(text.contains("topic \(fixture.names.schedule) does not exist"), "\(text)")
    #expect(text.contains("martlet topics create"), "\(text)")
    #expect(letter.value == request, "a replay sends it")
    let receipts = try fixture.receipts(count: 1)
    #expect(receipts.map(\.id) == ["later"] && receipts.map(\.outcome) == [.deadLettered])
    #expect(first.stop() == nil)
    #expect(try fixture.committed(requestPartitions: 1) == 2)

    try fixture.kafka.createTopic("schedule", partitions: 2, compacted: true)
    try fixture.produce(fixture.names.requests, request)
    let second = try fixture.start()
    #expect(try fixture.read(fixture.names.schedule, count: 1).count == 1)
    #expect(second.stop() == nil)
  }
}
