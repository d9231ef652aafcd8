// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Reads one stretch of some partitions of a topic, without a consumer group and beside whoever reads them
/// otherwise. Owned by one thread.
package final class KafkaStretches {
  package let topic: String
  private var reader: LogReader?
  /// One past the last offset wanted, of the partitions that are not at their end.
  private var ends: [Int32: Int64] = [:]
  private var finished: [Int32] = []
  /// When the next broker's fetcher is woken, in monotonic milliseconds, and whose turn it is.
  private var nextWake: UInt64 = 0
  private var turn = 0

  /// Connects. Throws when the topic does not exist or no broker answers within the time.
  package init(
    _ configuration: KafkaConfiguration, topic: String, timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    self.topic = topic
    reader = try LogReader(
      configuration, topic: topic, fixed: [("auto.offset.reset", "earliest")], wakeup: nil,
      timeoutMilliseconds: timeoutMilliseconds)
  }

  deinit { close() }

  /// Begins to read a stretch, as far as the log still has it.
  package func read(
    _ partition: Int32, _ offsets: Range<Int64>, timeoutMilliseconds: Int32
  ) throws(KafkaError) {
    guard let reader, partition < reader.partitions else { return }
    let marks = try reader.watermarks(partition, timeoutMilliseconds: timeoutMilliseconds)
    let wanted = offsets.clamped(to: marks.low..<max(marks.low, marks.high))
    guard !wanted.isEmpty else {
      finished.append(partition)
      return
    }
    ends[partition] = wanted.upperBound
    try reader.start(partition, at: wanted.lowerBound)
  }

  /// Whether every stretch has been read to its end.
  package var isDone: Bool { ends.isEmpty && finished.isEmpty }

  /// Appends records of the stretches to the batch, in the order of each partition's log; waits up to the time
  /// for the first.
  package func poll(into batch: inout KafkaBatch, timeoutMilliseconds: Int32) {
    guard let reader, !ends.isEmpty else { return }
    _ = reader.serveErrors()
    let before = batch.count
    _ = batch.fill(from: reader.queue, limit: batch.capacity, timeout: timeoutMilliseconds)
    for index in before..<batch.count { note(batch[index], reader) }
    wakeFetchers(reader)
    let ends = self.ends
    batch.removeAll(
      from: before,
      where: { record in
        record.errorCode != 0 || ends[record.partition].map { record.offset >= $0 } ?? false
      })
  }

  /// The partitions whose stretches came to their end since the last call.
  package func takeFinished() -> [Int32] {
    defer { finished.removeAll() }
    for partition in finished { ends[partition] = nil }
    return finished
  }

  private func note(_ record: KafkaRecord, _ reader: LogReader) {
    guard let end = ends[record.partition], !finished.contains(record.partition) else { return }
    // The mark of a transaction may be the last offset: then the log's own end ends the stretch.
    guard record.offset + 1 >= end || record.isEndOfPartition else { return }
    reader.stop(record.partition)
    finished.append(record.partition)
  }

  /// In librdkafka 2.0.2 a fetcher whose queues are full sleeps for up to a second, however soon they are
  /// emptied. Asking a partition's broker where the log ends makes it look again: each partition in turn, one
  /// every few milliseconds.
  private func wakeFetchers(_ reader: LogReader) {
    let now = MonotonicClock.milliseconds()
    guard now >= nextWake, !ends.isEmpty else { return }
    nextWake = now + 10
    turn += 1
    let partition = ends.keys.sorted()[turn % ends.count]
    _ = try? reader.watermarks(partition, timeoutMilliseconds: 100)
  }

  package func close() {
    reader?.close()
    reader = nil
  }
}
