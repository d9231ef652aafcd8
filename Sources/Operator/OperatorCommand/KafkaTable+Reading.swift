// SPDX-License-Identifier: Apache-2.0
import Kafka
import ServiceKit

extension KafkaTable {
  /// Reads the topic to its current end; fails if nothing below that arrives for 20 seconds, or a stop is requested.
  ///
  /// - Parameter forget: Called before the topic is read again from the start.
  func readToEnd(
    _ cluster: KafkaCluster, _ context: ServiceContext, forget: () -> Void,
    _ note: (KafkaRecord) -> Void
  ) throws(ServiceFailure) {
    let ends = isCaughtUp ? nil : currentEnds(cluster)
    var limit = ReadingLimit()
    var isRead = false
    repeat {
      var advances = false
      pollRecords(
        timeoutMilliseconds: 50, forget: forget,
        { record in
          advances = advances || ends.map { record.isBefore($0) } ?? true
          note(record)
        })
      if advances { limit.restart() }
      if context.signals.isStopping {
        throw context.signals.interrupted("\(topic) was not read to its end")
      }
      isRead = isCaughtUp || ends.map { hasRead(to: $0) } ?? false
      if !isRead { try limit.demand(topic, lastError) }
    } while !isRead
  }

  /// The next offset to be written of each partition; nil if the cluster does not say, and only what the reader reports
  /// is known.
  private func currentEnds(_ cluster: KafkaCluster) -> [Int64]? {
    let all = (0..<Int32(partitions)).map { TopicPartition(topic: topic, partition: $0) }
    let marks = try? cluster.admin.watermarks(all, timeoutMilliseconds: 10_000)
    return marks?.map(\.high)
  }
}
