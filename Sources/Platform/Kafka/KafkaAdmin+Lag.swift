// SPDX-License-Identifier: Apache-2.0

/// The records of a partition that a group has still to read.
public struct PartitionLag: Sendable, Hashable {
  public let records: Int64
  /// One past the last record that a reader gets: what an open transaction holds back is above it.
  public let end: Int64

  public init(records: Int64, end: Int64) {
    self.records = records
    self.end = end
  }
}

extension KafkaAdmin {
  /// Records of these partitions that a group has still to read: what stands in the log above its committed offset, or
  /// in the whole log where it has none. Two requests a broker and one to the coordinator.
  ///
  /// The offsets are not asked for with librdkafka's ListConsumerGroupOffsets: a client without a group of its own ends
  /// with SIGSEGV when the coordinator answers with an error such as NOT_COORDINATOR (2.0.2).
  public func lag(
    of group: String, _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: PartitionLag] {
    guard !partitions.isEmpty else { return [:] }
    // Transient errors would pile up in the group's client, which has no other reader.
    defer { _ = isRefused(group) }
    let committed = try groupOffsets(group, partitions, timeoutMilliseconds: timeoutMilliseconds)
    let ends = try watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    var lag: [TopicPartition: PartitionLag] = [:]
    for (entry, ends) in zip(committed, ends) {
      lag[entry.partition] = PartitionLag(
        records: max(0, ends.high - max(ends.low, entry.offset ?? ends.low)), end: ends.high)
    }
    return lag
  }
}
