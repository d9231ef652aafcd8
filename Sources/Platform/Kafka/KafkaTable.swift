// SPDX-License-Identifier: Apache-2.0
public import EventLoop

/// Follows a compacted topic: first to its end at the time of the start, then continuously. Uses no consumer group.
///
/// Owned by one thread. The caller holds the table itself and applies each record in order.
public final class KafkaTable {
  public var topic: String { changelog.topic }
  public var partitions: Int { changelog.positions.count }
  private let changelog: KafkaChangelog
  private let wakeup: Wakeup?
  private var batch = KafkaBatch(capacity: 256)
  /// The most records of one call, give or take a batch: its caller has a turn to end, or a deadline.
  var mostAtOnce = 50_000
  private var unfinished: Set<Int32> = []
  /// The offset at which each partition began, and the end of its log when its first record since then had come; nil
  /// before.
  private var begun: [Int64] = []
  private var ends: [Int64?] = []
  /// How far back to read, in milliseconds; nil: from the beginning.
  private let past: Int64?

  /// True if everything that was there at the start or the last rebuild has been read, so the table may be served: every
  /// partition to its end, or as far as its log reached when its first record came. The end of one whose records come
  /// faster than a fetch waits is never reported.
  public var isCaughtUp: Bool { unfinished.isEmpty }
  /// True if every partition has been read up to the offset that `ends` has for it.
  public func hasRead(to ends: [Int64]) -> Bool {
    zip(changelog.positions, ends).allSatisfy { $0 >= $1 }
  }
  /// The number of times the broker no longer had our position, so that everything was read again from the start.
  /// Entries of the caller that are older and not read again are stale.
  public private(set) var rebuilds = 0
  /// The last error; the table recovers by itself.
  public var lastError: KafkaError? { changelog.lastError }

  /// - Parameters:
  ///   - partitions: the topic's partition count; nil asks the cluster.
  ///   - past: reads only records written within this many milliseconds; nil: all records.
  ///
  /// Throws when the cluster is asked and the topic does not exist or no broker answers within ten seconds.
  public init(
    _ configuration: KafkaConfiguration, topic: String, partitions: Int? = nil,
    wakeup: Wakeup? = nil, since past: Int64? = nil
  ) throws(KafkaError) {
    (self.past, self.wakeup) = (past, wakeup)
    changelog = try KafkaChangelog(
      configuration, topic: topic, partitions: partitions, wakeup: wakeup)
    try begin()
  }

  private func begin() throws(KafkaError) {
    unfinished = Set(0..<Int32(changelog.positions.count))
    try changelog.begin(at: changelog.starts(since: past))
    begun = changelog.positions
    ends = Array(repeating: nil, count: begun.count)
  }

  /// Applies the records that have arrived, or as many as one call may take: then the wakeup is signalled. Waits up to
  /// the timeout for the first. A nil value is a tombstone: delete the key. The bytes are valid during the call only.
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
    var (timeout, left) = (timeoutMilliseconds, mostAtOnce)
    while left > 0 {
      let taken = changelog.poll(into: &batch, timeoutMilliseconds: timeout)
      guard taken > 0 else { return }
      for index in 0..<batch.count {
        let record = batch[index]
        if record.isEndOfPartition { unfinished.remove(record.partition) } else { apply(record) }
      }
      batch.release()
      if changelog.lost != nil {
        rebuild()
        forget()
      }
      if !unfinished.isEmpty { noteRead() }
      (timeout, left) = (0, left - taken)
    }
    // Librdkafka signals only what comes to an empty queue.
    wakeup?.signal()
  }

  /// Finishes the partitions that have been read as far as their logs reached.
  private func noteRead() {
    for partition in unfinished {
      let place = Int(partition)
      // A fetch response with a record has told the end; what is known before it may be of another log.
      guard changelog.positions[place] > begun[place] else { continue }
      ends[place] = ends[place] ?? changelog.knownEnd(partition)
      if let end = ends[place], changelog.positions[place] >= end { unfinished.remove(partition) }
    }
  }

  private func rebuild() {
    rebuilds += 1
    // Starting fails only for lack of memory; then `unfinished` keeps the table from being served.
    do throws(KafkaError) { try begin() } catch { changelog.lastError = error }
  }

  public func close() { changelog.close() }
}
