// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop

/// Follows a compacted topic: first to the end it had when we came, then on. No consumer group.
///
/// Owned by one thread. The caller keeps the table itself, applying each record in its order.
public final class KafkaTable {
  public let topic: String
  private var reader: LogReader?
  private var batch = KafkaBatch(capacity: 256)
  private var unfinished: Set<Int32> = []
  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  /// How far back it is read, in milliseconds; nil: from the beginning.
  private let past: Int64?

  /// True if every partition has been read to its end since the start or the last rebuild: the table may be served from
  /// now on.
  public var isCaughtUp: Bool { unfinished.isEmpty }
  /// The number of times that the broker no longer had our position, so that all was read again from the start. What
  /// the caller holds from before and is not told again is stale.
  public private(set) var rebuilds = 0
  /// The last thing that went wrong; the table goes on by itself.
  public private(set) var lastError: KafkaError?

  /// - Parameters:
  ///   - partitions: how many the topic has; nil asks the cluster.
  ///   - past: only what was written within so many milliseconds is read; nil: everything.
  ///
  /// Throws when the cluster is asked and the topic does not exist or no broker answers within the time.
  public init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int? = nil,
    wakeup: Wakeup? = nil, since past: Int64? = nil, timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) {
    self.topic = topic
    self.past = past
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    let reader = try LogReader(
      configuration, topic: topic, partitions: partitions, fixed: [("auto.offset.reset", "error")],
      wakeup: wakeup,
      timeoutMilliseconds: timeoutMilliseconds)
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

  /// What is read of a partition of which the broker knows no record of the time that is wanted.
  private static let lastRecords: Int64 = 10_000

  /// Applies what has arrived; waits up to the time for the first record. A nil value is a
  /// tombstone: forget the key. The bytes are valid during the call only.
  ///
  /// - Parameter forget: called where all is read again from the start, before the first record of that: what the caller
  ///   holds is stale.
  public func poll(
    timeoutMilliseconds: Int32, forget: () -> Void = {},
    _ apply: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Void
  ) {
    pollRecords(timeoutMilliseconds: timeoutMilliseconds, forget: forget) { record in
      apply(record.key, record.value.baseAddress == nil ? nil : record.value)
    }
  }

  /// The same with the record as a whole: for who has to say where it stands.
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
    // A start can only fail for want of memory; then `unfinished` keeps the table from being served.
    do throws(KafkaError) { try startAll() } catch { lastError = error }
  }

  public func close() {
    batch.release()
    reader?.close()
    reader = nil
  }
}
