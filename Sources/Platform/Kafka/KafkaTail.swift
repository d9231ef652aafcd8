// SPDX-License-Identifier: Apache-2.0
public import EventLoop

/// Reads a topic without a consumer group, from an end or from given offsets, and counts the records that the broker
/// deleted before they could be read. Owned by one thread.
public final class KafkaTail {
  public enum Start: Sendable {
    case beginning
    /// Only records written from now on.
    case end
    /// The first offset wanted of each partition; a partition without an entry begins at its start.
    case offsets([Int32: Int64])
    /// Records written at this time (milliseconds since the epoch) or later. A partition for which the broker knows no
    /// such record begins at its start.
    case time(Int64)
  }

  public var topic: String { reader.topic }
  public var partitions: Int { reader.partitions }
  /// Between two questions for added partitions, in milliseconds.
  private static let lookInterval: UInt64 = 5_000

  /// The next offset to be written of each partition, as of the start.
  public let ends: [Int64]
  private let reader: LogReader
  private var progress = ReadProgress()
  private var unfinished: Set<Int32>
  private var nextLook: UInt64 = 0

  /// The number of offsets skipped: records that were deleted before they were read. (Compacted and transactional
  /// topics have gaps anyway.)
  public private(set) var missed = 0
  /// True if every partition has been read to its end at least once.
  public var isCaughtUp: Bool { unfinished.isEmpty }
  /// True if every partition has been read up to the offset that `ends` has for it, or has been at its end for a second:
  /// its last offsets may not belong to records, or to those of an open transaction.
  public func hasRead(to ends: [Int64]) -> Bool {
    progress.hasRead(to: ends, now: MonotonicClock.milliseconds())
  }
  /// The last error; reading continues by itself.
  public var lastError: KafkaError? { reader.lastError }

  /// Throws when the topic does not exist or no broker answers within the timeout.
  public init(
    _ configuration: KafkaConfiguration, topic: String, from start: Start, wakeup: Wakeup? = nil,
    timeoutMilliseconds: Int32 = 10_000
  ) throws(KafkaError) {
    reader = try LogReader(
      configuration, topic: topic, reset: "earliest", wakeup: wakeup,
      timeoutMilliseconds: timeoutMilliseconds)
    unfinished = Set(0..<Int32(reader.partitions))
    var starts: [Int64?] = []
    if case .time(let time) = start { starts = reader.starts(since: time) }
    // Before anything is read: what is asked behind a fetch is answered after it, which may wait for records.
    var (firsts, ends): ([Int64], [Int64]) = ([], [])
    for partition in 0..<Int32(reader.partitions) {
      let marks = try reader.watermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
      ends.append(marks.high)
      let first =
        switch start {
        case .beginning: marks.low
        case .end: marks.high
        case .offsets(let offsets): offsets[partition] ?? marks.low
        case .time: max(starts[Int(partition)] ?? marks.low, marks.low)
        }
      firsts.append(first)
    }
    self.ends = ends
    for (partition, first) in firsts.enumerated() {
      progress.begin(at: first)
      try reader.start(Int32(partition), at: first)
    }
  }

  /// Fills the batch with what has arrived, waiting up to the timeout until it is full, and returns the total number of
  /// records in it. Release the batch before closing.
  ///
  /// Delivers records only: partition ends and errors are handled here, and records that crashed the process are
  /// skipped (`CrashNotes`).
  ///
  /// - Parameter most: the maximum to take; with 1, the wait ends with the first record.
  public func poll(
    into batch: inout KafkaBatch, upTo most: Int = .max, timeoutMilliseconds: Int32
  ) -> Int {
    let before = batch.count
    _ = reader.fill(&batch, upTo: most, timeoutMilliseconds: timeoutMilliseconds)
    for index in before..<batch.count { note(batch.records[index]) }
    reader.clean(&batch, from: before)
    return batch.count
  }

  /// Also reads the partitions that were added to the topic meanwhile, each from its first record. Asks the cluster with
  /// the first call and then every five seconds; a question without an answer is asked again.
  public func followPartitions() {
    let now = MonotonicClock.milliseconds()
    guard now >= nextLook else { return }
    nextLook = now + Self.lookInterval
    let known = Int32(partitions)
    do throws(KafkaError) {
      try reader.startAdded(timeoutMilliseconds: 1_000)
    } catch { reader.lastError = error }
    for partition in known..<Int32(partitions) {
      unfinished.insert(partition)
      progress.begin(at: 0)
    }
  }

  private func note(_ record: KafkaRecord) {
    if record.isEndOfPartition {
      unfinished.remove(record.partition)
      progress.ended(record.partition, now: MonotonicClock.milliseconds())
    } else if record.errorCode != 0 {
      reader.lastError = record.error
    } else {
      missed += progress.read(record.partition, record.offset)
    }
  }

  public func close() { reader.close() }
}
