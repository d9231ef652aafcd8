// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
internal import EventLoop

/// Reads stretches of some partitions of some topics, without a consumer group and beside whoever reads them
/// otherwise. Owned by one thread.
///
/// What it holds is bounded whatever the user's properties for consumers say: `heldBytes`, and of each partition
/// that is read one answer more, which is a batch or 64 KiB as they are compressed.
public final class OffsetRangeReader {
  /// Records that wait here at most, in bytes as they are when they are not compressed.
  public static let heldBytes = 2 << 20

  /// A partition of one of the topics: what records are told apart by, without a string each.
  public struct PartitionKey: Sendable, Hashable {
    fileprivate var topic: Int
    fileprivate var partition: Int32
  }

  private static let limits: [KafkaConfiguration.Property] = [
    ("auto.offset.reset", "earliest"), ("enable.partition.eof", "true"),
    ("queued.min.messages", "4000"), ("queued.max.messages.kbytes", "\(heldBytes >> 10)"),
    ("fetch.message.max.bytes", "32768"),
    // What is read is there already. At a log's end a fetch would wait, and with it whatever is asked on that connection.
    ("fetch.wait.max.ms", "10"),
  ]

  private let isDeadly: (@Sendable (KafkaRecord) -> Bool)?
  private var client: KafkaClient?
  private let queue: OpaquePointer
  private var topics: [(name: String, handle: OpaquePointer, partitions: Int)] = []
  /// A stretch that has not been read to its end.
  private struct Stretch {
    /// One past the last offset wanted.
    var end: Int64
    /// When something last came of it, in monotonic milliseconds.
    var heardAt: UInt64
  }

  private var open: [PartitionKey: Stretch] = [:]
  private var finished: [PartitionKey] = []
  /// The ends of the logs when a stretch of them was last begun.
  private var logEnds: [PartitionKey: Int64] = [:]
  /// The topics of librdkafka's pointers in records, by index in `topics`.
  private var identities: [(pointer: OpaquePointer, topic: Int)] = []
  /// When the next broker's fetcher is woken, in monotonic milliseconds, and whose turn it is.
  private var nextWake: UInt64 = 0
  private var turn = 0

  /// After so many milliseconds without a record a fetcher is woken.
  private static let moment: Int32 = 20

  /// Makes the client; asks no broker.
  public init(_ configuration: KafkaConfiguration) throws(KafkaError) {
    isDeadly = configuration.isDeadly ?? CrashNotes.leftOut
    let native = try configuration.makeNative(.reader, fixed: Self.limits)
    native.enableEvents(RD_KAFKA_EVENT_ERROR)
    let client = try KafkaClient(RD_KAFKA_CONSUMER, native, wakeup: nil)
    self.client = client
    queue = rd_kafka_queue_new(client.raw)
  }

  deinit { close() }

  /// Begins to read a stretch, as far as the log still has it. A partition that is not there, as when its topic was
  /// made again with fewer, has nothing of it.
  ///
  /// Throws when the topic does not exist or no broker answers within the time.
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

  /// The topic's index; looks it up at the cluster the first time.
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
    let topic = topics[place.topic].name
    var low: Int64 = 0
    var high: Int64 = 0
    let code = rd_kafka_query_watermark_offsets(
      client!.raw, topic, place.partition, &low, &high, timeoutMilliseconds)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "cannot read the watermarks of \(topic)/\(place.partition)")
    }
    return Watermarks(low: low, high: high)
  }

  /// True if every stretch has been read to its end.
  public var isDone: Bool { open.isEmpty && finished.isEmpty }

  /// One past the last offset of a partition's log when its last stretch was begun; 0 for one that is not there.
  public func logEnd(_ place: PartitionKey) -> Int64 { logEnds[place] ?? 0 }

  /// The partitions that are being read.
  public var reading: Int { open.count }

  /// Appends records of the stretches to the batch, in the order of each partition's log; waits up to the time
  /// for the first. What crashed the process is left out (`CrashNotes`).
  public func poll(into batch: inout KafkaBatch, timeoutMilliseconds: Int32) {
    guard let client, !open.isEmpty else { return }
    while let event = rd_kafka_queue_poll(client.events, 0) { rd_kafka_event_destroy(event) }
    let before = batch.count
    if batch.fill(from: queue, limit: batch.capacity, timeout: 0) == 0 {
      // librdkafka would wait until as many have come as there is room for.
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

  /// The partition that a record is from.
  public func place(of record: KafkaRecord) -> PartitionKey {
    if let known = identities.first(where: { $0.pointer == record.topicIdentity }) {
      return PartitionKey(topic: known.topic, partition: record.partition)
    }
    let name = record.topic
    let topic = topics.firstIndex { $0.name == name } ?? -1
    identities.append((record.topicIdentity, topic))
    return PartitionKey(topic: topic, partition: record.partition)
  }

  /// The partitions whose stretches came to their end since the last call.
  public func drainFinished() -> [PartitionKey] {
    defer { finished.removeAll() }
    for place in finished { open[place] = nil }
    return finished
  }

  /// Gives up the stretches of which nothing has come for so long, as of a partition that has lost its leader.
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
    // The mark of a transaction may be the last offset: then the log's own end ends the stretch. One that is not
    // there any more has nothing left of it.
    let isAtEnd = record.errorCode == 0 ? record.offset + 1 >= end : record.isEndOfPartition
    guard isAtEnd || record.error?.isOfMissingPartition == true else { return }
    stop(place)
    finished.append(place)
  }

  private func stop(_ place: PartitionKey) {
    _ = rd_kafka_consume_stop(topics[place.topic].handle, place.partition)
  }

  /// In librdkafka 2.0.2 a fetcher whose queues are full sleeps for up to a second, however soon they are
  /// emptied. Asking a partition's broker where the log ends makes it look again: each partition in turn, one
  /// every few milliseconds while nothing comes.
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
