// SPDX-License-Identifier: Apache-2.0
import Contract
import Kafka
import Records
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
    let count = try cluster.demand(topic, "check the topic prefix")
    let all = (0..<Int32(count)).map { TopicPartition(topic: names.deadLetters, partition: $0) }
    marks = try orFail { try cluster.admin.watermarks(all, timeoutMilliseconds: 10_000) }
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
    let tail = try orFail { try KafkaTail(reading: topic, of: cluster, from: .beginning) }
    defer { tail.close() }
    var (looked, passed) = (0, 0)
    let ends = marks.map(\.high)
    try tail.visit(to: ends, context) { record throws(ServiceFailure) in
      guard record.isBefore(ends) else { return true }
      looked += 1
      let letter = DeadLetterEntry(record)
      guard filter.matches(letter, parser) else { return true }
      passed += 1
      guard try body(letter) else { return false }
      return passed != filter.most
    } afterBatch: { _ in
      progress(looked)
    }
    return passed
  }
}
