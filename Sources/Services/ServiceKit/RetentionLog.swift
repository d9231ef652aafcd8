// SPDX-License-Identifier: Apache-2.0
package import Delivery
package import Kafka

extension Logger {
  /// Says loudly what is wrong with the log of a partition.
  package func error(_ finding: RetentionGaps<TopicPartition>.Finding) {
    switch finding {
    case .lost(let partition, let offsets):
      error(
        "records were removed by retention before they were read: they are lost",
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "first": "\(offsets.lowerBound)", "last": "\(offsets.upperBound - 1)",
          "count": "\(offsets.count)",
        ])
    case .endsBefore(let partition, let committed, let end):
      error(
        "the log ends before the committed offset: it was cut, or the topic was made again",
        [
          "topic": partition.topic, "partition": "\(partition.partition)",
          "committed": "\(committed)", "end": "\(end)",
        ])
    }
  }
}
