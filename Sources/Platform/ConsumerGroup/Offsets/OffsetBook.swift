// SPDX-License-Identifier: Apache-2.0

/// A source of records of a consumer group member: a partition of one of its subscribed topics.
///
/// Numbers only, so that a record finds its ledger without hashing its topic's name.
public struct Source: Hashable, Sendable {
  /// The topic's index in the member's list of topics.
  public let topic: Int
  public let partition: Int32

  public init(topic: Int, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }
}

/// The records that a group member has taken from each of its partitions, and which of them are completed: one
/// `OffsetLedger` each. For services that process records on one thread.
///
/// A partition's ledger starts at the first offset received: librdkafka looks up the committed offset.
public struct OffsetBook: Sendable {
  public enum Arrival: Equatable, Sendable {
    /// The record must be processed, and then completed.
    case new
    /// The same, after skipped offsets.
    case newAfter(Range<Int64>)
    /// Not above what was read before: the record was taken in this assignment, or the log was replaced. It must not be
    /// processed.
    case known(expected: Int64)
  }

  /// A partition's ledger. Not optional: each access to an optional would copy the ledger.
  private struct Entry {
    var ledger: OffsetLedger
    /// False if no record was received yet, or the partition belongs to another member.
    var hasBegun = false

    /// Starts the ledger at the first offset received.
    mutating func begin(at offset: Int64) {
      ledger = OffsetLedger(nextOffset: offset)
      hasBegun = true
    }
  }

  /// The ledgers of each topic by partition.
  private var ledgers: [[Entry]]
  private var assigned: [Source] = []
  /// The number of the assignment: records of an earlier one complete nothing in this one. 0 if there is none.
  public private(set) var epoch: UInt32 = 0

  public init(topics: Int) { ledgers = Array(repeating: [], count: topics) }

  /// Starts an assignment of all these partitions; forgets earlier records.
  ///
  /// - Parameter epoch: different from all before, and not 0.
  public mutating func begin(_ sources: [Source], epoch: UInt32) {
    removeAll()
    self.epoch = epoch
    assigned = sources
    for topic in ledgers.indices {
      let highest = sources.lazy.filter { $0.topic == topic }.map(\.partition).max() ?? -1
      let none = Entry(ledger: OffsetLedger(nextOffset: 0))
      ledgers[topic] = Array(repeating: none, count: Int(highest) + 1)
    }
  }

  /// Notes that a record of an assigned partition was read.
  public mutating func received(_ source: Source, _ offset: Int64) -> Arrival {
    let place = Int(source.partition)
    if !ledgers[source.topic][place].hasBegun { ledgers[source.topic][place].begin(at: offset) }
    let expected = ledgers[source.topic][place].ledger.nextOffset
    guard offset >= expected else { return .known(expected: expected) }
    _ = ledgers[source.topic][place].ledger.received(offset)
    return offset == expected ? .new : .newAfter(expected..<offset)
  }

  /// Notes that a record was completed. One of an earlier assignment changes nothing.
  public mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    guard epoch == self.epoch, ledgers[source.topic][Int(source.partition)].hasBegun else { return }
    _ = ledgers[source.topic][Int(source.partition)].ledger.completed(offset)
  }

  /// Notes that a partition was read to its log end offset. Offsets below it may be no records, such as transaction
  /// markers, which no record reports: without this call the group would show that lag for as long as no record
  /// arrives.
  ///
  /// - Returns: the skipped offsets, if there are any.
  public mutating func ended(_ source: Source, at end: Int64) -> Range<Int64>? {
    let place = Int(source.partition)
    guard ledgers[source.topic][place].hasBegun else {
      // Everything below is completed, or no record. If the log is empty, its first record should be at offset 0: what
      // is missing before another one was removed unread. That 0 is progress: the next owner needs it, too.
      ledgers[source.topic][place].begin(at: end)
      return nil
    }
    let expected = ledgers[source.topic][place].ledger.nextOffset
    guard end > expected else { return nil }
    ledgers[source.topic][place].ledger.ended(at: end)
    return expected..<end
  }

  /// The partition's log starts again at this record, which must be processed; records taken before complete nothing.
  public mutating func restart(_ source: Source, at offset: Int64) {
    let place = Int(source.partition)
    ledgers[source.topic][place].begin(at: offset)
    _ = ledgers[source.topic][place].ledger.received(offset)
  }

  /// The progress of each partition that has received a record.
  public var progress: [PartitionProgress<Source>] {
    assigned.compactMap { source in
      let entry = ledgers[source.topic][Int(source.partition)]
      guard entry.hasBegun else { return nil }
      return PartitionProgress(source, epoch: epoch, committable: entry.ledger.committable)
    }
  }

  public mutating func removeAll() {
    epoch = 0
    assigned = []
    for topic in ledgers.indices { ledgers[topic] = [] }
  }
}
