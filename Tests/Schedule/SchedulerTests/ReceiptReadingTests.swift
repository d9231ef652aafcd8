// SPDX-License-Identifier: Apache-2.0
import Kafka
import TestSupport
import Testing

@testable import Scheduler

@Suite struct ReceiptReadingTests {
  @Test func `a partition that was added is read from its beginning, and once`() throws {
    let fixture = try KafkaFixture(topics: [("receipts", 2)], embedded: true)
    let topic = fixture.name("receipts")
    for number in 0..<20 { try fixture.produce(topic, key: "\(number)", value: "\(number)") }
    let records = try fixture.read(topic, count: 20)
    // As if the second partition had come after the first record.
    let (before, after) = (
      records.filter { $0.partition == 0 && $0.offset == 0 },
      records.filter { $0.partition == 1 || $0.offset > 0 }
    )
    try #require(before.count == 1 && after.contains { $0.partition == 1 })
    var batch = KafkaBatch(capacity: 100)
    var found: [String] = []
    func read(_ reading: ReceiptReading) {
      reading.poll(into: &batch, timeoutMilliseconds: 50) { value in
        found.append(String(decoding: value, as: UTF8.self))
      }
    }
    let reading = try ReceiptReading(fixture.configuration, topic, from: [0: 1])
    defer { reading.close() }
    #expect(reading.partitions == 2)
    expectEventually {
      read(reading)
      return found.count >= after.count
    }
    #expect(found.sorted() == after.compactMap(\.value).sorted())
    #expect(reading.positions.values.reduce(0, +) == 20)
    found = []
    let past = try ReceiptReading(fixture.configuration, topic, since: 0, until: [0: 1])
    defer { past.close() }
    expectEventually {
      read(past)
      return past.isDone
    }
    #expect(found == before.compactMap(\.value))
  }
}
