// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

public struct TopicPartition: Sendable, Hashable, CustomStringConvertible {
  public let topic: String
  public let partition: Int32

  public init(topic: String, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }

  public var description: String { "\(topic)/\(partition)" }
}

/// The offset at which a partition is read first.
public struct PartitionStart: Sendable, Hashable {
  public let partition: TopicPartition
  /// The first offset to read; nil means the group's committed offset or, without one, the first record of the log.
  public let offset: Int64?

  /// The first record of the log, whatever the group has committed.
  public static let firstRecord = Int64(RD_KAFKA_OFFSET_BEGINNING)

  public init(_ partition: TopicPartition, offset: Int64?) {
    self.partition = partition
    self.offset = offset
  }
}

public struct CommittedOffset: Sendable, Hashable {
  public let partition: TopicPartition
  /// The next offset to read; nil when the group has committed nothing.
  public let offset: Int64?
  /// The text committed beside the offset (UTF-8, ≤ 4,096 characters); empty when there is none.
  public let metadata: [UInt8]

  public init(_ partition: TopicPartition, offset: Int64?, metadata: [UInt8] = []) {
    self.partition = partition
    self.offset = offset
    self.metadata = metadata
  }
}

public struct CommitResult: Sendable, Hashable {
  public let partition: TopicPartition
  public let offset: Int64
  /// nil if it was committed.
  public let error: KafkaError?
}

/// Owns librdkafka's list type for the duration of one call.
struct PartitionList: ~Copyable {
  let raw: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

  init(capacity: Int) { raw = rd_kafka_topic_partition_list_new(Int32(capacity)) }

  init(_ partitions: some Collection<TopicPartition>) {
    self.init(capacity: partitions.count)
    for partition in partitions { add(partition) }
  }

  deinit { rd_kafka_topic_partition_list_destroy(raw) }

  @discardableResult
  func add(_ partition: TopicPartition) -> UnsafeMutablePointer<rd_kafka_topic_partition_t> {
    rd_kafka_topic_partition_list_add(raw, partition.topic, partition.partition)
  }

  /// Adds a partition with an offset to commit. librdkafka frees the metadata with the list.
  func add(_ partition: TopicPartition, offset: Int64, metadata: String?) {
    let entry = add(partition)
    entry.pointee.offset = offset
    guard let metadata, !metadata.isEmpty else { return }
    let bytes = metadata.utf8.count
    // The list frees it with free(3), so it has to come from malloc(3).
    let copy = rd_kafka_mem_malloc(nil, bytes + 1)!
    metadata.withCString { copy.copyMemory(from: $0, byteCount: bytes + 1) }
    entry.pointee.metadata = copy
    entry.pointee.metadata_size = bytes
  }

  static func read(
    _ list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
  ) -> [rd_kafka_topic_partition_t] {
    guard let list, list.pointee.cnt > 0 else { return [] }
    return Array(UnsafeBufferPointer(start: list.pointee.elems, count: Int(list.pointee.cnt)))
  }
}

extension rd_kafka_topic_partition_t {
  var identity: TopicPartition {
    TopicPartition(topic: String(cString: topic), partition: partition)
  }
}
