// SPDX-License-Identifier: Apache-2.0
internal import CRdKafka
public import EventLoop

/// A member of a consumer group. Owned by one control thread; loops own the queues that it opens.
///
/// Rebalances arrive as events, and the assignment changes only when the caller calls `assign` or `unassign`, so
/// revoked partitions can drain first. Nothing is committed or stored automatically. `nextEvent` must be called at
/// least once per `max.poll.interval.ms` (60 s), even when idle.
public final class KafkaGroupConsumer {
  public let group: String
  private let configuration: KafkaConfiguration
  private let topics: [String]
  private let instanceID: String?
  private let reportsEnds: Bool
  private let wakeup: Wakeup?
  private var client: KafkaClient?
  private var fetching: FetchWakeup?
  private var queues: [KafkaQueue] = []
  /// The assigned partitions, and those of them whose start offset is not known yet.
  private var starts: [PartitionStart] = []
  private var unplaced: [TopicPartition] = []
  private var nextLook: UInt64 = 0
  private var statistics: String?

  /// Joins the group.
  ///
  /// - Parameters:
  ///   - instanceID: makes the membership static: a restart within `session.timeout.ms` gets its partitions back
  ///     without a rebalance. Two running processes must not share one.
  ///   - reportsEnds: makes queues deliver a message that is not a record (`isEndOfPartition`) whenever a partition was
  ///     read to its end; its offset is the next one to be written.
  ///   - wakeup: signalled when `nextEvent` has an event.
  ///
  /// Throws for properties that librdkafka rejects.
  public init(
    _ configuration: KafkaConfiguration, group: String, topics: [String],
    instanceID: String? = nil, reportsEnds: Bool = false, wakeup: Wakeup?
  ) throws(KafkaError) {
    self.group = group
    self.configuration = configuration
    self.topics = topics
    self.instanceID = instanceID
    self.reportsEnds = reportsEnds
    self.wakeup = wakeup
    try join()
  }

  private func join() throws(KafkaError) {
    var fixed: [KafkaConfiguration.Property] = [
      ("group.id", group), ("enable.auto.commit", "false"), ("enable.auto.offset.store", "false"),
      ("enable.partition.eof", reportsEnds ? "true" : "false"),
    ]
    if let instanceID { fixed.append(("group.instance.id", instanceID)) }
    let native = try configuration.makeNative(.group, fixed: fixed)
    native.enableEvents(
      RD_KAFKA_EVENT_REBALANCE | RD_KAFKA_EVENT_OFFSET_COMMIT | RD_KAFKA_EVENT_ERROR
        | RD_KAFKA_EVENT_STATS)
    let client = try KafkaClient(RD_KAFKA_CONSUMER, native, consumerQueue: true, wakeup: wakeup)
    self.client = client
    fetching = FetchWakeup(client.raw, configuration.properties(for: .group))
    let list = PartitionList(topics.map { TopicPartition(topic: $0, partition: -1) })
    let code = rd_kafka_subscribe(raw, list.raw)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      client.destroy()
      self.client = nil
      throw KafkaError(code, "cannot subscribe to \(topics.joined(separator: ", "))")
    }
  }

  /// Ends the client without leaving the group, so a static member keeps its place; there is no client until `rejoin`.
  /// Every queue must be closed before.
  ///
  /// Does not wait: a commit that librdkafka holds back for its coordinator would delay the end.
  public func retire() {
    precondition(queues.allSatisfy(\.isClosed), "a client was retired while a loop holds a queue")
    queues = []
    starts = []
    unplaced = []
    client?.abandon()
    client = nil
  }

  /// Rejoins the group after `retire`, with a new client of the same instance id.
  public func rejoin() throws(KafkaError) {
    precondition(client == nil, "a member joined its group twice")
    try join()
  }

  deinit { if client != nil { close() } }

  private var raw: OpaquePointer { client!.raw }

  /// The next event; nil when none arrived within the timeout. 0 does not wait.
  public func nextEvent(timeoutMilliseconds: Int32 = 0) -> GroupEvent? {
    var timeout = timeoutMilliseconds
    while let client, let event = rd_kafka_queue_poll(client.events, timeout) {
      defer { rd_kafka_event_destroy(event) }
      if let translated = translate(event) { return translated }
      timeout = 0
    }
    return client == nil ? nil : placeStarts()
  }

  private func translate(_ event: OpaquePointer) -> GroupEvent? {
    switch rd_kafka_event_type(event) {
    case RD_KAFKA_EVENT_REBALANCE:
      let partitions = PartitionList.read(rd_kafka_event_topic_partition_list(event))
        .map(\.identity)
      if rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS {
        return .assigned(partitions)
      }
      return .revoked(partitions, lost: rd_kafka_assignment_lost(raw) != 0)
    case RD_KAFKA_EVENT_OFFSET_COMMIT:
      let results = Self.results(event)
      return .offsetsCommitted(
        results, results.failure(rd_kafka_event_error(event), "commit for group \(group)"))
    case RD_KAFKA_EVENT_ERROR:
      let code = rd_kafka_event_error(event)
      let isFatal = rd_kafka_event_error_is_fatal(event) != 0 || code == RD_KAFKA_RESP_ERR__FATAL
      let error = KafkaError(
        code: code.rawValue, message: String(cString: rd_kafka_event_error_string(event)),
        isFatal: isFatal, isRetriable: !isFatal)
      return isFatal ? .fatal(error) : .error(error)
    case RD_KAFKA_EVENT_STATS:
      statistics = String(cString: rd_kafka_event_stats(event))
      return nil
    default: return nil
    }
  }

  /// The newest librdkafka statistics (JSON), returned once; nil without any, which is always so unless the user sets
  /// `statistics.interval.ms`. They arrive with `nextEvent`.
  public func drainStatistics() -> String? { statistics.take() }

  /// The group's committed offsets of these partitions, from the coordinator.
  public func committed(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [CommittedOffset] {
    try readCommitted(raw, group: group, partitions, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The log start offsets of partitions, from their brokers; partitions whose broker did not answer in time are
  /// missing.
  public func logStarts(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) -> [TopicPartition: Int64] {
    client?.offsets(
      partitions, at: Int64(RD_KAFKA_OFFSET_BEGINNING), timeoutMilliseconds: timeoutMilliseconds)
      ?? [:]
  }

  /// The log end offsets of partitions (one past the last record), as in `logStarts`.
  public func logEnds(
    _ partitions: [TopicPartition], timeoutMilliseconds: Int32
  ) -> [TopicPartition: Int64] {
    client?.offsets(
      partitions, at: Int64(RD_KAFKA_OFFSET_END), timeoutMilliseconds: timeoutMilliseconds) ?? [:]
  }

  /// The log end offsets of partitions, including records of open transactions, from the last fetch responses: no
  /// request is sent. Partitions that were not fetched yet are missing.
  public func knownEnds(_ partitions: [TopicPartition]) -> [TopicPartition: Int64] {
    guard let client else { return [:] }
    var ends: [TopicPartition: Int64] = [:]
    for partition in partitions { ends[partition] = client.knownEnd(partition) }
    return ends
  }

  /// Opens the queue of one partition. Call it before the partition is assigned.
  public func openQueue(_ partition: TopicPartition, wakeup: Wakeup) -> KafkaQueue {
    let queue = KafkaQueue(partition, queue: separated(partition), wakeup, fetching: fetching)
    queues.append(queue)
    return queue
  }

  /// The partition's own queue, detached from the consumer's.
  private func separated(_ partition: TopicPartition) -> OpaquePointer {
    let queue = rd_kafka_queue_get_partition(raw, partition.topic, partition.partition)!
    rd_kafka_queue_forward(queue, nil)
    return queue
  }

  /// Starts fetching; the response to `.assigned`. Every partition must have an open queue. A partition without a start
  /// begins at the group's committed offset, or at its first record without one: the coordinator is queried here, for
  /// 500 ms at most, and then in `nextEvent` until it answers.
  public func assign(_ starts: [PartitionStart]) throws(KafkaError) {
    queues.removeAll { $0.isClosed }
    let open = Set(queues.map(\.partition))
    for start in starts where !open.contains(start.partition) {
      throw .invalid("\(start.partition) was assigned without an open queue")
    }
    unplaced = starts.filter { $0.offset == nil }.map(\.partition)
    self.starts = starts
    nextLook = 0
    // All begin together: a second assignment would restart the first ones.
    try begin(unplaced.isEmpty ? starts : [])
    _ = placeStarts()
  }

  private func begin(_ starts: [PartitionStart]) throws(KafkaError) {
    let list = PartitionList(capacity: starts.count)
    for start in starts {
      list.add(start.partition).pointee.offset = start.offset ?? PartitionStart.firstRecord
    }
    let code = rd_kafka_assign(raw, list.raw)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "cannot assign") }
  }

  /// Starts partitions without a start at the group's committed offset, once the coordinator returns it; returns the
  /// error of a failed attempt.
  ///
  /// librdkafka 2.0.2 can look that up itself, but asks only once: when the answer for a partition is an error, such as
  /// a coordinator that has just moved, it never fetches the partition until the next rebalance.
  private func placeStarts() -> GroupEvent? {
    let now = MonotonicClock.milliseconds()
    guard !unplaced.isEmpty, now >= nextLook else { return nil }
    do throws(KafkaError) {
      let committed = try committed(unplaced, timeoutMilliseconds: 500)
      let offsets = Dictionary(
        committed.map { ($0.partition, $0.offset) }, uniquingKeysWith: { first, _ in first })
      try begin(
        starts.map {
          PartitionStart($0.partition, offset: $0.offset ?? offsets[$0.partition] ?? nil)
        })
      unplaced = []
      return nil
    } catch {
      nextLook = MonotonicClock.milliseconds() + 200
      return .error(error)
    }
  }

  /// Gives up all partitions; the response to `.revoked`. Every queue must be closed before.
  public func unassign() throws(KafkaError) {
    queues.removeAll { $0.isClosed }
    guard queues.isEmpty else {
      throw .invalid("\(queues[0].partition) was unassigned while a loop holds its queue")
    }
    let code = rd_kafka_assign(raw, nil)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(code, "cannot unassign") }
    starts = []
    unplaced = []
  }

  /// Commits and waits for the coordinator's answer until the timeout; returns the result of each partition. Metadata
  /// is text without NUL, at most 4,096 UTF-16 units.
  ///
  /// `rd_kafka_commit` itself waits for as long as the coordinator is away, and reports one error for all.
  @discardableResult
  public func commit(
    _ offsets: [CommitRequest], timeoutMilliseconds: Int32 = 5_000
  ) throws(KafkaError) -> [CommitResult] {
    guard !offsets.isEmpty else { return [] }
    let list = Self.list(offsets)
    let answers = rd_kafka_queue_new(raw)!
    defer { rd_kafka_queue_destroy(answers) }
    var code = rd_kafka_commit_queue(raw, list.raw, answers, nil, nil)
    var results: [CommitResult] = []
    if code == RD_KAFKA_RESP_ERR_NO_ERROR {
      if let event = rd_kafka_queue_poll(answers, timeoutMilliseconds) {
        code = rd_kafka_event_error(event)
        results = Self.results(event)
        rd_kafka_event_destroy(event)
      } else {
        code = RD_KAFKA_RESP_ERR__TIMED_OUT
      }
    }
    if let error = results.failure(code, "commit for group \(group)") { throw error }
    return results
  }

  private static func results(_ event: OpaquePointer) -> [CommitResult] {
    PartitionList.read(rd_kafka_event_topic_partition_list(event)).map {
      CommitResult(
        partition: $0.identity, offset: $0.offset,
        error: $0.err.rawValue == 0 ? nil : KafkaError($0.err, "commit of \($0.identity)"))
    }
  }

  /// Commits; the result arrives as `.offsetsCommitted`. Have only one outstanding at a time.
  public func commitAsync(_ offsets: [CommitRequest]) throws(KafkaError) {
    guard !offsets.isEmpty else { return }
    let list = Self.list(offsets)
    let code = rd_kafka_commit_queue(raw, list.raw, client!.events, nil, nil)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw KafkaError(code, "commit for group \(group)")
    }
  }

  private static func list(_ offsets: [CommitRequest]) -> PartitionList {
    let list = PartitionList(capacity: offsets.count)
    for request in offsets {
      list.add(request.partition, offset: request.offset, metadata: request.metadata)
    }
    return list
  }

  /// Leaves the group and ends the client. Close the queues and destroy every record first.
  ///
  /// Waits at most `timeoutMilliseconds` for the LeaveGroup; after that the group notices by the session timeout.
  public func close(timeoutMilliseconds: UInt64 = 10_000) {
    guard client != nil else { return }
    for queue in queues where !queue.isClosed { queue.close() }
    queues = []
    let deadline = MonotonicClock.milliseconds() + timeoutMilliseconds
    let error = rd_kafka_consumer_close_queue(raw, client!.events)
    // A member that was fenced by another one with its instance id cannot leave the group: librdkafka then does not
    // start to leave, and never reports that it has left.
    if let error { rd_kafka_error_destroy(error) }
    while error == nil,
      rd_kafka_consumer_closed(raw) == 0 && MonotonicClock.milliseconds() < deadline
    {
      if case .revoked = nextEvent(timeoutMilliseconds: 50) { rd_kafka_assign(raw, nil) }
    }
    client?.destroy()
    client = nil
  }
}

extension [CommitResult] {
  /// The error of a commit as a whole; nil without one, and if it is only that of some of its partitions: librdkafka
  /// gives a commit the error of its last refused partition, also if others were taken.
  func failure(_ code: rd_kafka_resp_err_t, _ attempt: String) -> KafkaError? {
    let isOfSome =
      contains { $0.error?.code == code.rawValue } && contains { $0.error == nil }
    return code == RD_KAFKA_RESP_ERR_NO_ERROR || isOfSome ? nil : KafkaError(code, attempt)
  }
}

public struct CommitRequest: Sendable, Hashable {
  public let partition: TopicPartition
  /// The next offset to read.
  public let offset: Int64
  /// Text for the next owner of the partition.
  public let metadata: String?

  public init(_ partition: TopicPartition, offset: Int64, metadata: String? = nil) {
    self.partition = partition
    self.offset = offset
    self.metadata = metadata
  }
}
