// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop
internal import Glibc

/// Fetches a group's committed offsets from its coordinator; retries until the timeout while the error is transient,
/// such as a coordinator that has just moved.
func readCommitted(
  _ client: OpaquePointer, group: String, _ partitions: [TopicPartition],
  timeoutMilliseconds: Int32
) throws(KafkaError) -> [CommittedOffset] {
  let deadline = MonotonicClock.milliseconds() + UInt64(max(0, timeoutMilliseconds))
  var pause: UInt32 = 10_000
  while true {
    let now = MonotonicClock.milliseconds()
    let rest = Int32(clamping: deadline > now ? deadline - now : 0)
    do throws(KafkaError) {
      return try askCommitted(client, group: group, partitions, timeoutMilliseconds: max(rest, 1))
    } catch {
      guard error.isRetriable, rest > 0 else { throw error }
      usleep(min(pause, UInt32(rest) * 1_000))
      pause = min(pause * 2, 200_000)
    }
  }
}

private func askCommitted(
  _ client: OpaquePointer, group: String, _ partitions: [TopicPartition],
  timeoutMilliseconds: Int32
) throws(KafkaError) -> [CommittedOffset] {
  guard !partitions.isEmpty else { return [] }
  let list = PartitionList(partitions)
  let code = rd_kafka_committed(client, list.raw, timeoutMilliseconds)
  guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
    throw KafkaError(code, "cannot read what group \(group) has committed")
  }
  var offsets: [CommittedOffset] = []
  for entry in PartitionList.read(list.raw) {
    guard entry.err == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(entry.err, "what group \(group) has committed for \(entry.identity)")
    }
    let metadata = UnsafeRawBufferPointer(
      start: entry.metadata, count: entry.metadata == nil ? 0 : entry.metadata_size)
    offsets.append(
      CommittedOffset(
        entry.identity, offset: entry.offset >= 0 ? entry.offset : nil, metadata: Array(metadata)))
  }
  return offsets
}
