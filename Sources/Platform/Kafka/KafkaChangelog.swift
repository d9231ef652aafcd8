// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop

/// Reads all partitions of a compacted topic from given offsets, for a table that stores its own positions. Uses no
/// consumer group. Owned by one thread.
///
/// Reports a position that is no longer in the log; the table then decides where to begin.
public final class KafkaChangelog {
  public var topic: String { reader.topic }
  /// The next offset to read in each partition. At the end of a log it is the log end offset, even where the last entry
  /// is a transaction marker.
  public private(set) var positions: [Int64]
  /// A partition whose log no longer has its position: it was truncated, or the topic was recreated. Reading pauses
  /// until `begin`.
  public private(set) var lost: Int32?
  private let reader: LogReader

  /// Creates the client; reads nothing before `begin`.
  ///
  /// - Parameter partitions: the topic's partition count; with it no broker needs to be reachable. nil asks the cluster.
  ///
  /// Throws when the cluster is asked and the topic does not exist or no broker answers within ten seconds.
  public init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int?, wakeup: Wakeup?
  ) throws(KafkaError) {
    reader = try LogReader(
      configuration, topic: topic, partitions: partitions, reset: "error", wakeup: wakeup)
    positions = Array(repeating: 0, count: reader.partitions)
  }

  /// Begins each partition at an offset, or at its first record for nil; discards what was not polled yet.
  public func begin(at starts: [Int64?]) throws(KafkaError) {
    precondition(starts.count == positions.count, "a start for each partition")
    for partition in positions.indices { reader.stop(Int32(partition)) }
    lost = nil
    for (partition, start) in starts.enumerated() {
      positions[partition] = start ?? 0
      try reader.start(Int32(partition), at: start ?? Int64(RD_KAFKA_OFFSET_BEGINNING))
    }
  }

  /// The end of a partition's log as of its last fetch response; nil before the first one.
  func knownEnd(_ partition: Int32) -> Int64? { reader.knownEnd(partition) }

  /// Where to begin for the records written within this many milliseconds; nil: with all.
  func starts(since past: Int64?) -> [Int64?] {
    guard let past else { return Array(repeating: nil, count: positions.count) }
    return reader.answers(since: WallClock.milliseconds() - past).enumerated().map {
      (partition, answer) -> Int64? in
      // Without an answer any record may be of that time.
      guard let start = answer else { return nil }
      return start ?? reader.start(ofLast: Self.lastRecords, Int32(partition))
    }
  }

  /// The number of records read of a partition for which the broker knows no record of the requested time: some may
  /// have been written since.
  private static let lastRecords: Int64 = 10_000

  /// The last error; reading continues by itself.
  var lastError: KafkaError? {
    get { reader.lastError }
    set { reader.lastError = newValue }
  }

  /// The error since the last call; reading continues by itself.
  public func drainError() -> KafkaError? { lastError.take() }

  /// Fills the batch with what has arrived, waiting up to the timeout until it is full: records and ends of partitions
  /// (`isEndOfPartition`, whose offset is the log end), in order within each partition. Errors are handled here. Release
  /// the batch before `begin` and `close`.
  ///
  /// - Returns: how much has arrived, with what is not in the batch.
  @discardableResult
  public func poll(into batch: inout KafkaBatch, timeoutMilliseconds: Int32 = 0) -> Int {
    guard lost == nil else { return 0 }
    let before = batch.count
    let taken = reader.fill(&batch, timeoutMilliseconds: timeoutMilliseconds)
    for index in before..<batch.count { note(batch.records[index]) }
    reader.clean(&batch, from: before, keepsEnds: true)
    return taken
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

  public func close() { reader.close() }
}

/// The partitioner of Martlet's producers, the same as that of Java clients.
public enum KafkaPartitioner {
  public static func partition(of key: [UInt8], among partitions: Int) -> Int32 {
    key.withUnsafeBytes { bytes in
      rd_kafka_msg_partitioner_murmur2(
        nil, bytes.baseAddress, bytes.count, Int32(partitions), nil, nil)
    }
  }
}
