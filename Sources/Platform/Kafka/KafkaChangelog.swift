// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop

/// Reads all partitions of a compacted topic from given offsets, for a table that stores its own positions. Uses no
/// consumer group. Owned by one thread.
///
/// Reports a position that is no longer in the log; the table then decides where to begin.
public final class KafkaChangelog {
  public let topic: String
  /// The next offset to read in each partition. At the end of a log it is the log end offset, even where the last entry
  /// is a transaction marker.
  public private(set) var positions: [Int64]
  /// A partition whose log no longer has its position: it was truncated, or the topic was recreated. Reading pauses
  /// until `begin`.
  public private(set) var lost: Int32?
  private var reader: LogReader?
  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  private var lastError: KafkaError?

  /// Creates the client; reads nothing before `begin`, and no broker needs to be reachable.
  public init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int, wakeup: Wakeup
  ) throws(KafkaError) {
    self.topic = topic
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    positions = Array(repeating: 0, count: partitions)
    reader = try LogReader(
      configuration, topic: topic, partitions: partitions, fixed: [("auto.offset.reset", "error")],
      wakeup: wakeup, timeoutMilliseconds: 0)
  }

  deinit { close() }

  /// Begins each partition at an offset, or at its first record for nil; discards what was not polled yet.
  public func begin(at starts: [Int64?]) throws(KafkaError) {
    guard let reader else { return }
    precondition(starts.count == positions.count, "a start for each partition")
    for partition in positions.indices { reader.stop(Int32(partition)) }
    lost = nil
    for (partition, start) in starts.enumerated() {
      positions[partition] = start ?? 0
      try reader.start(Int32(partition), at: start ?? Int64(RD_KAFKA_OFFSET_BEGINNING))
    }
  }

  /// The error since the last call; reading continues by itself.
  public func drainError() -> KafkaError? {
    defer { lastError = nil }
    return lastError
  }

  /// Fills the batch with what has arrived, without waiting: records and ends of partitions (`isEndOfPartition`, whose
  /// offset is the log end), in order within each partition. Errors are handled here. Release the batch before `begin`
  /// and `close`.
  public func poll(into batch: inout KafkaBatch) {
    guard let reader else { return }
    if let error = reader.serveErrors() { lastError = error }
    guard lost == nil else { return }
    let before = batch.count
    _ = batch.fill(from: reader.queue, limit: batch.capacity, timeout: 0)
    for index in before..<batch.count { note(batch.records[index]) }
    batch.removeAll(from: before) { record in
      record.errorCode != 0 ? !record.isEndOfPartition : isDeadly?(record) == true
    }
  }

  private func note(_ record: KafkaRecord) {
    if record.errorCode == 0 {
      positions[Int(record.partition)] = record.offset + 1
    } else if record.isEndOfPartition {
      positions[Int(record.partition)] = record.offset
    } else {
      lastError = record.error
      if record.errorCode == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET.rawValue
        || record.errorCode == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE.rawValue
      {
        lost = record.partition
      }
    }
  }

  public func close() {
    reader?.close()
    reader = nil
  }
}

/// The partitioner of Martlet's producers, the same as that of Java clients.
public enum KafkaPartitioner {
  /// The partition of a key, out of `partitions`.
  public static func partition(of key: [UInt8], among partitions: Int) -> Int32 {
    key.withUnsafeBytes { bytes in
      rd_kafka_msg_partitioner_murmur2(
        nil, bytes.baseAddress, bytes.count, Int32(partitions), nil, nil)
    }
  }
}
