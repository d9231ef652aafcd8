// SPDX-License-Identifier: Apache-2.0
import CommandKit
import Contract
import JSON
import Kafka
import ServiceKit

/// Reads the dead letters from the start of the topic to its end at creation of this value, without a consumer group.
struct DeadLetterScan {
  private let cluster: KafkaCluster
  private let topic: String
  private let filter: DeadLetterFilter
  private let context: ServiceContext
  private let marks: [Watermarks]
  let parser = JSONParser()

  init(
    _ cluster: KafkaCluster, _ names: TopicNames, _ filter: DeadLetterFilter,
    _ context: ServiceContext
  ) throws(ServiceFailure) {
    self.cluster = cluster
    self.filter = filter
    self.context = context
    topic = names.deadLetters
    do {
      let known = try cluster.admin.partitionCounts(timeoutMilliseconds: 10_000)
      guard let count = known[topic] else {
        throw ServiceFailure("there is no topic \(topic); check the topic prefix")
      }
      var marks: [Watermarks] = []
      for partition in 0..<Int32(count) {
        marks.append(
          try cluster.admin.watermarks(
            TopicPartition(topic: topic, partition: partition), timeoutMilliseconds: 10_000))
      }
      self.marks = marks
    } catch {
      throw ServiceFailure(error)
    }
  }

  /// The number of offsets in that range.
  var total: Int { marks.reduce(0) { $0 + Int($1.high - $1.low) } }

  /// Calls `body` with each letter that passes the filter, until it returns false, and `progress` with the number of
  /// records read. Returns how many passed.
  @discardableResult
  func visit(
    progress: (Int) -> Void = { _ in },
    _ body: (DeadLetterEntry) throws(ServiceFailure) -> Bool
  ) throws(ServiceFailure) -> Int {
    let tail = try orFail {
      var kafka = cluster.configuration
      kafka.preferBulkReadingOfTail()
      return try KafkaTail(kafka, topic: topic, from: .beginning)
    }
    defer { tail.close() }
    var batch = KafkaBatch(capacity: 200)
    var unfinished = Set(marks.indices.filter { marks[$0].high > marks[$0].low })
    var (looked, passed) = (0, 0)
    while !unfinished.isEmpty && !context.signals.isStopping {
      let count = tail.poll(into: &batch, timeoutMilliseconds: 100)
      defer { batch.release() }
      for index in 0..<count {
        let record = batch[index]
        let high = marks[Int(record.partition)].high
        if record.offset + 1 >= high { unfinished.remove(Int(record.partition)) }
        guard record.offset < high else { continue }
        looked += 1
        let letter = DeadLetterEntry(record)
        guard filter.matches(letter, parser) else { continue }
        passed += 1
        guard try body(letter) else { return passed }
        if passed == filter.most { return passed }
      }
      progress(looked)
      // The last offsets may not belong to records.
      if count == 0 && tail.isCaughtUp { break }
    }
    return passed
  }
}
