// SPDX-License-Identifier: Apache-2.0
import Kafka

extension KafkaConfiguration {
  /// Lets a `KafkaTail` read as fast as it can. Its partitions share one queue, and librdkafka 2.0.2 compares what waits
  /// there of all of them with the limit of each: a share of the limit for each would stop all of them for a second
  /// whenever one share waits.
  mutating func preferBulkReadingOfTail() { preferBulkReading(of: 1) }
}
