// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Partitions that Kafka does not deliver.
@Suite struct FetchStallTests {
  private func reading(
    next: Int64 = 10, waiting: Int = 0, lag: Int64 = 5, state: String = "UP", leader: Int = 1
  ) -> KafkaStatistics {
    KafkaStatistics(
      partitions: [
        .init(
          topic: "t", number: 0, leader: leader, fetchState: "active", nextOffset: next,
          waiting: waiting, lag: lag)
      ],
      brokers: [
        .init(
          id: 1, name: "a:1", state: state, roundTrip: 400, toSend: 0, unanswered: 1, timeouts: 2,
          errors: 0)
      ])
  }

  /// Whether a stall is reported at each second, from readings once a second.
  private func seconds(_ count: UInt64, _ reading: (UInt64) -> KafkaStatistics) -> [UInt64] {
    var watch = FetchStallWatch(patience: 30_000)
    return (0..<count).filter { !watch.observe(reading($0), now: 1_000 + $0 * 1_000).isEmpty }
  }

  @Test func `standing still behind the log's end for 30 s, and again after as long`() {
    #expect(seconds(100) { _ in reading() } == [30, 60, 90])
    var watch = FetchStallWatch(patience: 30_000)
    _ = watch.observe(reading(), now: 0)
    let found = watch.observe(reading(), now: 45_000)
    #expect(found.map(\.seconds) == [45])
    #expect(found.first?.broker?.timeouts == 2)
  }

  @Test func `a partition is not stalled while it moves, at its end, or while records wait here`() {
    #expect(seconds(100) { reading(next: Int64($0)) }.isEmpty)
    #expect(seconds(100) { _ in reading(lag: 0) }.isEmpty)
    #expect(seconds(100) { _ in reading(lag: -1) }.isEmpty)
    #expect(seconds(100) { _ in reading(waiting: 1) }.isEmpty, "the sender holds them back")
    #expect(seconds(100) { $0 % 20 == 0 ? reading(waiting: 1) : reading() }.isEmpty)
  }

  @Test func `a leader that cannot be reached: the log's end is not known then`() {
    #expect(seconds(40) { _ in reading(lag: 0, state: "CONNECT") } == [30])
    #expect(seconds(40) { _ in reading(lag: -1, leader: -1) } == [30])
    var watch = FetchStallWatch(patience: 0)
    #expect(watch.observe(reading(leader: 7), now: 1).first?.broker == nil)
  }
}
