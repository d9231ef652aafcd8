// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

/// Feedback and records that are gone.
@Suite(.serialized) struct FeedbackRetentionTests {
  private typealias Fixture = FeedbackFixture

  @Test
  func `feedback that retention removed is counted as lost, and the rest is worked on`() throws {
    let fixture = try Fixture(partitions: 1, embedded: true)
    try fixture.send([Fixture.feedback(Fixture.device(1))])
    let feedback = TopicPartition(topic: fixture.names.feedback, partition: 0)
    try fixture.kafka.commit(group: fixture.names.group(.feedback), feedback, offset: 1)
    let count = 2_500
    let blank = String(repeating: " ", count: 3_500)
    let low = try fixture.kafka.overflow(
      fixture.names.feedback,
      with: (0..<count).map { number in
        let record = Fixture.feedback(Fixture.device(1 + number % 10))
        return (
          String(decoding: record.key, as: UTF8.self),
          String(decoding: record.value, as: UTF8.self) + blank
        )
      })
    #expect(low > 1, "the broker removed the oldest")
    let service = try fixture.start()
    defer { service.stop() }
    let left = count + 1 - low
    #expect(eventually { service.counter("feedback") == left })
    #expect(eventually { service.counter("lost_to_retention") == low - 1 })
    #expect(service.counter("lost_to_retention") == low - 1)
    #expect(fixture.invalid(atLeast: 10).count == 10)
    try expectEventually {
      try fixture.committed(fixture.names.feedback, partitions: 1) == Int64(count + 1)
    }
  }
}
