// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop

/// Follows a compacted topic: first to its end at the time of the start, then continuously. Uses no consumer group.
///
/// Owned by one thread. The caller holds the table itself and applies each record in order.
public final class KafkaTable {
  public let topic: String
  private var reader: LogReader?
  private var batch = KafkaBatch(capacity: 256)
  private var unfinished: Set<Int32> = []
  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  /// How far back to read, in milliseconds; nil: from the beginning.
  private let past: Int64?

  /// True if every partition has been read to its end since the start or the last rebuild, so the table may be served.
  public var isCaughtUp: Bool { unfinished.isEmpty }
  /// The number of times the broker no longer had our position, so that everything was read again from the start.
  /// Entries of the caller that are older and not read again are stale.
  public private(set) var rebuilds = 0
  /// The last error; the table recovers by itself.
  public private(set) var lastError: KafkaError?

  /// - Parameters:
  ///   - partitions: the topic's partition count; nil asks the cluster.
  ///   - past: reads only records written within this many milliseconds; nil: all records.
  ///
  /// Throws when the cluster is asked and the topic does not exist or no broker answers within ten seconds.
  public init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int? = nil,
    wakeup: Wakeup? = nil, since past: Int64? = nil
  ) throws(KafkaError) {
    self.topic = topic
    self.past = past
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    let reader = try LogReader(
      configuration, topic: topic, partitions: partitions, fixed: [("auto.offset.reset", "error")],
      wakeup: wakeup, timeoutMilliseconds: 10_000)
    self.reader = reader
    try startAll()
  }

  deinit { close() }

  private func startAll() throws(KafkaError) {
    guard let reader else { return }
    unfinished = Set(0..<Int32(reader.partitions))
    let starts = past.map { reader.starts(since: WallClock.milliseconds() - $0) }
    for partition in 0..<Int32(reader.partitions) {
      var start: Int64?
      if let starts {
        start = starts[partition] ?? reader.start(ofLast: Self.lastRecords, partition)
      }
      try reader.start(partition, at: start ?? Int64(RD_KAFKA_OFFSET_BEGINNING))
    }
  }

  /// The number of records read of a partition for which the broker knows no record of the requested time.
  private static let lastRecords: Int64 = 10_000

  /// Applies the records that have arrived; waits up to the timeout for the first. A nil value is a tombstone: delete
  /// the key. The bytes are valid during the call only.
  ///
  /// - Parameter forget: called when everything is read again from the start, before its first record: the caller's
  ///   entries are stale.
  public func poll(
    timeoutMilliseconds: Int32, forget: () -> Void = {},
    _ apply: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Void
  ) {
    pollRecords(timeoutMilliseconds: timeoutMilliseconds, forget: forget) { record in
      apply(record.key, record.value.baseAddress == nil ? nil : record.value)
    }
  }

  /// The same with the whole record: for callers that need its offset.
  public func pollRecords(
    timeoutMilliseconds: Int32, forget: () -> Void = {},
    _ apply: (_ record: KafkaRecord) -> Void
  ) {
    guard let reader else { return }
    if let error = reader.serveErrors() { lastError = error }
    var timeout = timeoutMilliseconds
    while batch.fill(from: reader.queue, limit: batch.capacity, timeout: timeout) > 0 {
      var mustRebuild = false
      for index in 0..<batch.count {
        let record = batch[index]
        if record.errorCode == 0 {
          if isDeadly?(record) != true { apply(record) }
        } else if record.isEndOfPartition {
          unfinished.remove(record.partition)
        } else {
          lastError = record.error
          mustRebuild = mustRebuild || Self.isPositionLost(record.errorCode)
        }
      }
      batch.release()
      if mustRebuild {
        rebuild(reader)
        forget()
      }
      timeout = 0
    }
  }

  private static func isPositionLost(_ code: Int32) -> Bool {
    code == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET.rawValue
      || code == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE.rawValue
  }

  private func rebuild(_ reader: LogReader) {
    rebuilds += 1
    for partition in 0..<Int32(reader.partitions) { reader.stop(partition) }
    // Starting fails only for lack of memory; then `unfinished` keeps the table from being served.
    do throws(KafkaError) { try startAll() } catch { lastError = error }
  }

  public func close() {
    batch.release()
    reader?.close()
    reader = nil
  }
}
