// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka

extension KafkaAdmin {
  /// Records of these partitions that a group has still to read: what stands in the log above its committed offset, or
  /// in the whole log where it has none. Two requests a broker and one to the coordinator; no client of its own.
  package func lag(
    of group: String, _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: Int64] {
    guard !partitions.isEmpty else { return [:] }
    let committed = try committed(by: group, partitions, timeoutMilliseconds)
    let ends = try watermarks(partitions, timeoutMilliseconds: timeoutMilliseconds)
    var lag: [TopicPartition: Int64] = [:]
    for (partition, ends) in zip(partitions, ends) {
      lag[partition] = max(0, ends.high - max(ends.low, committed[partition] ?? ends.low))
    }
    return lag
  }

  /// The committed offsets of those partitions that have one.
  private func committed(
    by group: String, _ partitions: [TopicPartition], _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [TopicPartition: Int64] {
    let list = PartitionList(partitions)
    var request = rd_kafka_ListConsumerGroupOffsets_new(group, list.raw)
    defer { rd_kafka_ListConsumerGroupOffsets_destroy(request) }
    let event = try perform("read the offsets of group \(group)", timeoutMilliseconds) {
      client, queue in
      rd_kafka_ListConsumerGroupOffsets(client, &request, 1, nil, queue)
    }
    defer { rd_kafka_event_destroy(event) }
    var count = 0
    let groups = rd_kafka_ListConsumerGroupOffsets_result_groups(
      rd_kafka_event_ListConsumerGroupOffsets_result(event), &count)
    var offsets: [TopicPartition: Int64] = [:]
    guard count == 1, let found = rd_kafka_group_result_partitions(groups?[0]) else {
      return offsets
    }
    for entry in PartitionList.read(UnsafeMutablePointer(mutating: found))
    where entry.err == RD_KAFKA_RESP_ERR_NO_ERROR && entry.offset >= 0 {
      offsets[entry.identity] = entry.offset
    }
    return offsets
  }
}
