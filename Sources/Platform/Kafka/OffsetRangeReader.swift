// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Reads offset ranges of some partitions of some topics, without a consumer group and independently of other readers.
/// Owned by one thread.
///
/// Its memory is bounded whatever the user's consumer properties are: `heldBytes`, plus one fetch response for each
/// partition being read, which is a batch or 64 KiB, compressed.
public final class OffsetRangeReader {
  /// The maximum size of records that wait here, in bytes, uncompressed.
  public static let heldBytes = 2 << 20

  /// A partition of one of the topics, which identifies a record's origin without a string for each.
  public struct PartitionKey: Sendable, Hashable {
    fileprivate var topic: Int
    fileprivate var partition: Int32
  }

  private static let limits: [KafkaConfiguration.Property] = [
    ("auto.offset.reset", "earliest"), ("enable.partition.eof", "true"),
    ("queued.min.messages", "4000"), ("queued.max.messages.kbytes", "\(heldBytes >> 10)"),
    ("fetch.message.max.bytes", "32768"),
    // The records exist already. At the end of a log a fetch would wait, and block other requests on that connection.
    ("fetch.wait.max.ms", "10"),
  ]

  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  private var client: KafkaClient?
  private let queue: OpaquePointer
  private var topics: [(name: String, handle: OpaquePointer, partitions: Int)] = []
  /// A range that has not been read to its end.
  private struct Stretch {
    /// One past the last offset wanted.
    var end: Int64
    /// The time at which a record of it last arrived, in monotonic milliseconds.
    var heardAt: UInt64
  }

  /// The last error of a partition, such as a missing right to read it; reading continues by itself.
  public private(set) var lastError: KafkaError?
  private var open: [PartitionKey: Stretch] = [:]
  private var finished: [PartitionKey] = []
  /// The log end offsets, as of the last time a range of the partition was begun.
  private var logEnds: [PartitionKey: Int64] = [:]
  /// The indexes in `topics` of librdkafka's topic pointers in records.
  private var identities: [(pointer: OpaquePointer, topic: Int)] = []
  /// The time at which the next broker's fetcher is woken, in monotonic milliseconds, and whose turn it is.
  private var nextWake: UInt64 = 0
  private var turn = 0

  /// Milliseconds without a record after which a fetcher is woken.
  private static let moment: Int32 = 20

  /// Creates the client; sends no request.
  public init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    let native = try configuration.makeNative(.reader, fixed: Self.limits)
    native.enableEvents(RD_KAFKA_EVENT_ERROR)
    let client = try KafkaClient(RD_KAFKA_CONSUMER, native, wakeup: nil)
    self.client = client
    queue = rd_kafka_queue_new(client.raw)
  }

  deinit { close() }

  /// Starts reading a range, as far as the log still has it. A partition that does not exist, for example because its
  /// topic was recreated with fewer, yields no records.
  ///
  /// Throws when the topic does not exist or no broker answers within the timeout.
  public func read(
    _ partition: TopicPartition, _ offsets: Range<Int64>, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> PartitionKey {
    let topic = try topic(partition.topic, timeoutMilliseconds)
    let place = PartitionKey(topic: topic, partition: partition.partition)
    guard partition.partition < topics[topic].partitions else {
      finished.append(place)
      return place
    }
    let marks = try watermarks(place, timeoutMilliseconds)
    logEnds[place] = marks.high
    let wanted = offsets.clamped(to: marks.low..<max(marks.low, marks.high))
    guard !wanted.isEmpty else {
      finished.append(place)
      return place
    }
    let handle = topics[topic].handle
    guard rd_kafka_consume_start_queue(handle, place.partition, wanted.lowerBound, queue) == 0
    else { throw KafkaError(rd_kafka_last_error(), "cannot read \(partition)") }
    open[place] = Stretch(end: wanted.upperBound, heardAt: MonotonicClock.milliseconds())
    return place
  }

  /// The topic's index; looks it up in the cluster the first time.
  private func topic(_ name: String, _ timeoutMilliseconds: Int32) throws(KafkaError) -> Int {
    if let known = topics.firstIndex(where: { $0.name == name }) { return known }
    guard let client, let handle = rd_kafka_topic_new(client.raw, name, nil) else {
      throw .invalid("cannot read topic \(name)")
    }
    do throws(KafkaError) {
      let count = try partitionCount(client.raw, handle, timeoutMilliseconds: timeoutMilliseconds)
      topics.append((name, handle, count))
      return topics.count - 1
    } catch {
      rd_kafka_topic_destroy(handle)
      throw error
    }
  }

  private func watermarks(
    _ place: PartitionKey, _ timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Watermarks {
    try client!.watermarks(
      TopicPartition(topic: topics[place.topic].name, partition: place.partition),
      timeoutMilliseconds: timeoutMilliseconds)
  }

  /// True if every range has been read to its end.
  public var isDone: Bool { open.isEmpty && finished.isEmpty }

  /// The log end offset of a partition when its last range was begun; 0 for a partition that does not exist.
  public func logEnd(_ place: PartitionKey) -> Int64 { logEnds[place] ?? 0 }

  /// The number of partitions being read.
  public var reading: Int { open.count }

  /// Appends records of the ranges to the batch, in log order within each partition; waits up to the timeout for the
  /// first. Records that crashed the process are skipped (`CrashNotes`).
  public func poll(into batch: inout KafkaBatch, timeoutMilliseconds: Int32) {
    guard let client, !open.isEmpty else { return }
    while let event = rd_kafka_queue_poll(client.events, 0) { rd_kafka_event_destroy(event) }
    let before = batch.count
    if batch.fill(from: queue, limit: batch.capacity, timeout: 0) == 0 {
      // librdkafka would wait until the batch is full.
      _ = batch.fill(from: queue, limit: 1, timeout: min(timeoutMilliseconds, Self.moment))
      _ = batch.fill(from: queue, limit: batch.capacity, timeout: 0)
    }
    let now = MonotonicClock.milliseconds()
    for index in before..<batch.count { note(batch.records[index], now) }
    if batch.count == before { wakeFetchers(now) }
    let open = self.open
    batch.removeAll(
      from: before,
      where: { record in
        record.errorCode != 0 || open[place(of: record)].map { record.offset >= $0.end } ?? true
          || isDeadly?(record) == true
      })
  }

  public func place(of record: KafkaRecord) -> PartitionKey {
    if let known = identities.first(where: { $0.pointer == record.topicIdentity }) {
      return PartitionKey(topic: known.topic, partition: record.partition)
    }
    let name = record.topic
    let topic = topics.firstIndex { $0.name == name } ?? -1
    identities.append((record.topicIdentity, topic))
    return PartitionKey(topic: topic, partition: record.partition)
  }

  /// The partitions whose ranges were read to their end since the last call.
  public func drainFinished() -> [PartitionKey] {
    defer { finished.removeAll() }
    for place in finished { open[place] = nil }
    return finished
  }

  /// Gives up ranges that have yielded nothing for this long, such as those of a partition without a leader.
  public func drainSilent(forMilliseconds limit: UInt64) -> [PartitionKey] {
    let now = MonotonicClock.milliseconds()
    let silent = open.filter { now >= $0.value.heardAt + limit && !finished.contains($0.key) }.map(
      \.key)
    for place in silent {
      stop(place)
      open[place] = nil
    }
    return silent
  }

  private func note(_ record: KafkaRecord, _ now: UInt64) {
    let place = place(of: record)
    guard let end = open[place]?.end, !finished.contains(place) else { return }
    open[place]?.heardAt = now
    if record.errorCode != 0, !record.isEndOfPartition { lastError = record.error }
    // A transaction marker may be the last offset: then the end of the log ends the range. A partition that no longer
    // exists has nothing left to read.
    let isAtEnd = record.errorCode == 0 ? record.offset + 1 >= end : record.isEndOfPartition
    guard isAtEnd || record.error?.isOfMissingPartition == true else { return }
    stop(place)
    finished.append(place)
  }

  private func stop(_ place: PartitionKey) {
    _ = rd_kafka_consume_stop(topics[place.topic].handle, place.partition)
  }

  /// In librdkafka 2.0.2 a fetcher whose queues are full sleeps for up to a second, however soon they are emptied.
  /// Asking a partition's broker for the end of the log wakes it: each partition in turn, one every few milliseconds
  /// while nothing arrives.
  private func wakeFetchers(_ now: UInt64) {
    guard now >= nextWake, !open.isEmpty else { return }
    nextWake = now + 10
    turn += 1
    let places = open.keys.sorted { ($0.topic, $0.partition) < ($1.topic, $1.partition) }
    _ = try? watermarks(places[turn % places.count], 100)
  }

  public func close() {
    guard let client else { return }
    for place in open.keys where !finished.contains(place) { stop(place) }
    open = [:]
    rd_kafka_queue_destroy(queue)
    for topic in topics { rd_kafka_topic_destroy(topic.handle) }
    topics = []
    client.destroy()
    self.client = nil
  }
}
