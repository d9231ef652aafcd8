// SPDX-License-Identifier: Apache-2.0

public struct PartitionLag: Sendable, Hashable {
  public let records: Int64
  /// One past the last readable record; records of an open transaction lie above it.
  public let end: Int64
}

extension KafkaAdmin {
  /// The records of these partitions that a group has still to read: those above its committed offset, or the whole log
  /// where it has none. Costs two requests per broker and one to the coordinator.
  ///
  /// Does not use librdkafka's ListConsumerGroupOffsets: a client without a group of its own crashes with SIGSEGV when
  /// the coordinator answers with an error such as NOT_COORDINATOR (2.0.2).
  ///
  /// - Parameter needsAll: whether to throw where the leader of a partition does not answer; otherwise that one is left
  ///   out.
  public func lag(
    of group: String, _ partitions: [TopicPartition], timeoutMilliseconds: Int32,
    needsAll: Bool = true
  ) throws(KafkaError) -> [TopicPartition: PartitionLag] {
    guard !partitions.isEmpty else { return [:] }
    // Transient errors would pile up in the group's client, which has no other reader.
    defer { _ = isRefused(group) }
    let committed = try groupOffsets(group, partitions, timeoutMilliseconds: timeoutMilliseconds)
    let ends = try reached(partitions, timeoutMilliseconds, needsAll)
    var lag: [TopicPartition: PartitionLag] = [:]
    for entry in committed {
      guard let ends = ends[entry.partition] else { continue }
      lag[entry.partition] = PartitionLag(
        records: max(0, ends.high - max(ends.low, entry.offset ?? ends.low)), end: ends.high)
    }
    return lag
  }

  private func reached(
    _ partitions: [TopicPartition], _ timeoutMilliseconds: Int32, _ needsAll: Bool
  ) throws(KafkaError) -> [TopicPartition: Watermarks] {
    do throws(KafkaError) {
      let all = try watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
      return Dictionary(zip(partitions, all)) { first, _ in first }
    } catch {
      guard !needsAll else { throw error }
      return reachableWatermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    }
  }
}
