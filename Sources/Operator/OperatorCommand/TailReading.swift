// SPDX-License-Identifier: Apache-2.0
import Kafka

extension KafkaConfiguration {
  /// Makes a `KafkaTail` read as fast as possible. Its partitions share one queue, and librdkafka 2.0.2 compares the
  /// length of the whole queue with each partition's limit: a share of the limit for each would stop all of them for a
  /// second whenever one share is queued.
  mutating func preferBulkReadingOfTail() { preferBulkReading(of: 1) }
}
