// SPDX-License-Identifier: Apache-2.0
import CommandKit
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
    let tail: KafkaTail
    let ends: [Int64]
    do throws(KafkaError) {
      var kafka = cluster.configuration
      kafka.preferBulkReadingOfTail()
      tail = try KafkaTail(kafka, topic: topic, from: .time(since))
      var marks: [Int64] = []
      for partition in 0..<Int32(tail.partitions) {
        marks.append(
          try cluster.admin.watermarks(
            TopicPartition(topic: topic, partition: partition), timeoutMilliseconds: 10_000
          ).high)
      }
      ends = marks
    } catch {
      throw ServiceFailure("\(error)")
    }
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 500)
    var isWanted = true
    while isWanted, !context.signals.isStopping {
      let count = tail.poll(into: &batch, timeoutMilliseconds: 100)
      defer { batch.release() }
      for index in 0..<count
      where isWanted && batch[index].offset < ends[Int(batch[index].partition)] {
        isWanted = try body(batch[index])
      }
      if count == 0, tail.isCaughtUp { return isWanted }
    }
    return false
  }
}
