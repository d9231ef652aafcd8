// SPDX-License-Identifier: Apache-2.0
import CommandKit
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
  /// behind them.
  ///
  /// - Parameters:
  ///   - body: Returns false to end the reading.
  ///   - afterBatch: Is called now and then with the number of records read since.
  /// - Returns: False if `body` ended it, or a stop request.
  @discardableResult
  func visit<Failure: Error>(
    to ends: [Int64], _ context: ServiceContext, _ body: (KafkaRecord) throws(Failure) -> Bool,
    afterBatch: (Int) -> Void = { _ in }
  ) throws(Failure) -> Bool {
    var batch = KafkaBatch(capacity: 500)
    while !hasRead(to: ends) {
      if context.signals.isStopping { return false }
      let count = poll(into: &batch, timeoutMilliseconds: 100)
      defer { batch.release() }
      for index in 0..<count {
        guard try body(batch[index]) else { return false }
      }
      afterBatch(count)
      // The last offsets may not belong to records.
      if count == 0, isCaughtUp { break }
    }
    return true
  }
}
