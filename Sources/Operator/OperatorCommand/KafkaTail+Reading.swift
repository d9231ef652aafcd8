// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit

extension KafkaTail {
  /// Reads as fast as possible. The partitions share one queue, and librdkafka 2.0.2 compares the length of the whole
  /// queue with each partition's limit: a share of the limit for each would stop all of them for a second whenever one
  /// share is queued.
  convenience init(
    reading topic: String, of cluster: KafkaCluster, from start: Start
  ) throws(KafkaError) {
    var kafka = cluster.configuration
    kafka.preferBulkReading(of: 1)
    try self.init(kafka, topic: topic, from: start)
  }

  /// Calls `body` with each record until everything below these ends of the partitions is read, and with some that stand
  /// behind them. Fails if nothing below them arrives for 20 seconds: while a partition has no leader, others may grow.
  ///
  /// - Parameters:
  ///   - patience: How long to wait for the next record, in milliseconds.
  ///   - body: Returns false to end the reading.
  ///   - afterBatch: Is called now and then with the number of records read since.
  /// - Returns: False if `body` ended it, or a stop request.
  @discardableResult
  func visit(
    to ends: [Int64], _ context: ServiceContext, patience: Int = ReadingLimit.standard,
    _ body: (KafkaRecord) throws(ServiceFailure) -> Bool,
    afterBatch: (Int) -> Void = { _ in }
  ) throws(ServiceFailure) -> Bool {
    var batch = KafkaBatch(capacity: 500)
    var limit = ReadingLimit(milliseconds: patience)
    while !hasRead(to: ends) {
      if context.signals.isStopping { return false }
      let count = poll(into: &batch, timeoutMilliseconds: 100)
      defer { batch.release() }
      var advances = false
      for index in 0..<count {
        let record = batch[index]
        advances = advances || record.isBefore(ends)
        guard try body(record) else { return false }
      }
      afterBatch(count)
      // The last offsets may not belong to records.
      if count == 0, isCaughtUp { break }
      // What `body` did took time, too.
      if advances { limit.restart() }
      try limit.demand(topic, lastError)
    }
    return true
  }
}

extension KafkaRecord {
  /// Whether it stands below these ends of its topic's partitions.
  func isBefore(_ ends: [Int64]) -> Bool {
    Int(partition) < ends.count && offset < ends[Int(partition)]
  }
}
