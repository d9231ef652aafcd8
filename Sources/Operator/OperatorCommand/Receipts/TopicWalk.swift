// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import ServiceKit

/// Reads topics from a time to the ends that they have at the start, without a consumer group.
struct TopicWalk {
  let cluster: KafkaCluster
  let context: ServiceContext
  let showsProgress: Bool

  /// Calls `body` with each record until it returns false.
  ///
  /// - Parameter since: Milliseconds since the epoch.
  func visit(
    _ topics: [String], since: Int64, _ title: String,
    _ body: (KafkaRecord) throws(ServiceFailure) -> Bool
  ) throws(ServiceFailure) {
    var progress = showsProgress ? ProgressLine(title, unit: "records") : nil
    defer { progress?.end() }
    var looked = 0
    for topic in topics {
      let shouldContinue = try visit(topic, since) { record throws(ServiceFailure) in
        looked += 1
        progress?.update(count: looked, fraction: nil, note: topic)
        return try body(record)
      }
      guard shouldContinue else { return }
    }
  }

  private func visit(
    _ topic: String, _ since: Int64, _ body: (KafkaRecord) throws(ServiceFailure) -> Bool
  ) throws(ServiceFailure) -> Bool {
    let tail = try orFail { try KafkaTail(reading: topic, of: cluster, from: .time(since)) }
    defer { tail.close() }
    return try tail.visit(to: tail.ends, context) { record throws(ServiceFailure) in
      guard record.isBefore(tail.ends) else { return true }
      return try body(record)
    }
  }
}
