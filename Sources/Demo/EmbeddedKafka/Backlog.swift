// SPDX-License-Identifier: Apache-2.0

/// The batches in the partitions of a mock cluster that somebody still has to read, in bytes as they lie there.
///
/// A mock cluster keeps 5 MiB of a partition and then drops the oldest batches, read or not.
public struct Backlog: Sendable {
  /// A batch that is unread.
  private struct Batch: Sendable {
    /// One past its last record.
    var end: Int64
    var bytes: Int
  }

  private struct Partition: Sendable {
    var batches: [Batch] = []
    /// The index of the first unread batch: those before it have been read.
    var first = 0
    var unread = 0
    var committed: Int64 = 0
    /// The offset below which all records were dropped, and have been judged.
    var start: Int64 = 0
    /// The offset of the newest batch, and of the next record.
    var newest: Int64 = 0
    var end: Int64 = 0

    mutating func add(_ batch: Batch) {
      batches.append(batch)
      unread += batch.bytes
    }

    mutating func commit(_ offset: Int64) {
      committed = max(committed, offset)
      while first < batches.count, batches[first].end <= committed {
        unread -= batches[first].bytes
        first += 1
      }
      guard first > 64, first * 2 > batches.count else { return }
      batches.removeFirst(first)
      first = 0
    }
  }

  private struct Topic: Sendable {
    let form: BrokerTopic
    var partitions: [Partition]

    /// True if nothing of it may be dropped.
    var isKept: Bool { form.isTable || form.reader != nil }
  }

  /// Records that were dropped before their time.
  public struct Loss: Sendable, Equatable {
    public let topic: String
    public let partition: Int
    public let records: Int
  }

  /// The most that a partition keeps, in bytes and in batches.
  public static let capacity = 5 << 20
  static let mostBatches = 100_000

  private var topics: [String: Topic] = [:]
  /// Records written to all topics.
  public private(set) var records = 0
  /// Records that have left topics of which none has to stay.
  public private(set) var passed = 0
  /// Records that had to stay and were dropped, in the order in which that happened.
  public private(set) var losses: [Loss] = []
  /// Topics of which a writer had to wait, or of which records have left although none has to stay.
  public private(set) var filled: Set<String> = []

  /// A topic was created.
  mutating func add(_ topic: BrokerTopic) {
    topics[topic.name] = Topic(
      form: topic, partitions: Array(repeating: Partition(), count: topic.partitions))
  }

  /// The bytes of a partition that its reader has not committed; in a table everything.
  public func unread(_ topic: String, _ partition: Int) -> Int {
    topics[topic]?.partitions[partition].unread ?? 0
  }

  /// True if the reader of a topic is to get none of its records now.
  func isWithheld(_ name: String) -> Bool {
    guard let topic = topics[name] else { return false }
    return topic.form.spillsInto.contains { other in
      topics[other]?.partitions.contains { $0.unread > Self.capacity / 2 } ?? false
    }
  }

  /// True if there is such a topic.
  func has(_ name: String) -> Bool { topics[name] != nil }

  /// The offset of the next record of a partition; nil where that is not known.
  func end(_ name: String, _ partition: Int) -> Int64? {
    guard let topic = topics[name], topic.partitions.indices.contains(partition) else { return nil }
    return topic.partitions[partition].end
  }

  /// What a partition has for a reader.
  enum News: Comparable {
    case none
    /// The newest batch, or a part of it.
    case newest
    /// More than that; or it is not known what.
    case more
  }

  func news(_ name: String, _ partition: Int, after offset: Int64) -> News {
    guard let topic = topics[name], topic.partitions.indices.contains(partition) else {
      return .more
    }
    let state = topic.partitions[partition]
    if offset == state.end { return .none }
    return offset >= state.newest && offset < state.end ? .newest : .more
  }

  /// True if a batch finds room without one being dropped that has to stay.
  func hasRoom(_ name: String, _ partition: Int, bytes: Int) -> Bool {
    guard let topic = topics[name], topic.isKept, topic.partitions.indices.contains(partition)
    else { return true }
    let state = topic.partitions[partition]
    let batches = state.batches.count - state.first
    return batches == 0 || (state.unread + bytes <= Self.capacity && batches < Self.mostBatches)
  }

  /// A writer of the topic has to wait.
  mutating func noteFull(_ name: String) { filled.insert(name) }

  // MARK: What the cluster did

  mutating func note(_ event: BrokerEvent) {
    switch event {
    case .appended(let batch): appended(batch)
    case .committed(let name, let partition, let offset, let group):
      guard let form = topics[name]?.form, form.reader == group, !form.isTable else { return }
      topics[name]?.partitions[partition].commit(offset)
    }
  }

  private mutating func appended(_ batch: BrokerEvent.Batch) {
    records += batch.records
    guard let topic = topics[batch.topic], topic.partitions.indices.contains(batch.partition)
    else { return }
    let end = batch.offset + Int64(batch.records)
    topics[batch.topic]!.partitions[batch.partition].newest = batch.offset
    topics[batch.topic]!.partitions[batch.partition].end = end
    if topic.isKept {
      topics[batch.topic]!.partitions[batch.partition].add(Batch(end: end, bytes: batch.bytes))
    }
    if batch.start > topic.partitions[batch.partition].start { dropped(batch, topic) }
  }

  /// Records before `batch.start` were dropped.
  private mutating func dropped(_ batch: BrokerEvent.Batch, _ topic: Topic) {
    let partition = topic.partitions[batch.partition]
    topics[batch.topic]!.partitions[batch.partition].start = batch.start
    guard topic.isKept else {
      passed += Int(batch.start - partition.start)
      filled.insert(batch.topic)
      return
    }
    let lost = batch.start - max(partition.start, partition.committed)
    guard lost > 0 else { return }
    topics[batch.topic]!.partitions[batch.partition].commit(batch.start)
    losses.append(Loss(topic: batch.topic, partition: batch.partition, records: Int(lost)))
  }
}
