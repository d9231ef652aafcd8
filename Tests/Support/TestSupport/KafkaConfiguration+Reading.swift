// SPDX-License-Identifier: Apache-2.0
import EventLoop
public import Kafka

/// Reads topics from their beginnings.
extension KafkaConfiguration {
  /// Reads a topic until `isDone`, asked before every batch, is true; false when the time is up.
  @discardableResult
  public func read(
    _ topic: String, withinMilliseconds limit: UInt64 = 60_000,
    _ take: (KafkaRecord) throws -> Void, until isDone: (KafkaTail) -> Bool
  ) throws -> Bool {
    let tail = try KafkaTail(self, topic: topic, from: .beginning)
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 500)
    let deadline = MonotonicClock.milliseconds() + limit
    while !isDone(tail) {
      guard MonotonicClock.milliseconds() < deadline else { return false }
      _ = tail.poll(into: &batch, timeoutMilliseconds: 20)
      for index in 0..<batch.count { try take(batch[index]) }
      batch.release()
    }
    return true
  }

  /// Everything that is on a topic.
  public func readAll(_ topic: String) throws -> [ReadRecord] {
    var records: [ReadRecord] = []
    let isWhole = try read(
      topic, { records.append(ReadRecord($0)) },
      until: { $0.isCaughtUp })
    guard isWhole else { throw KafkaFixtureTimeout() }
    return records
  }
}
