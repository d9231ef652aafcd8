// SPDX-License-Identifier: Apache-2.0

/// A source that a member of a consumer group reads: a partition of one of the topics that it subscribes to.
///
/// Numbers only, so that a record finds its ledger without hashing its topic's name.
public struct Source: Hashable, Sendable {
  /// The topic's place in the member's list of topics.
  public let topic: Int
  public let partition: Int32

  public init(topic: Int, partition: Int32) {
    self.topic = topic
    self.partition = partition
  }
}

/// The records that a member of a consumer group has taken of each of its partitions, and which of them are done: an
/// `OffsetLedger` for each. For services that take and complete records on one thread.
///
/// A partition's ledger begins with what comes first, wherever that is: librdkafka looks the committed offset up.
public struct OffsetBook: Sendable {
  /// The meaning of a record's offset.
  public enum Arrival: Equatable, Sendable {
    /// To be worked on, and completed then.
    case new
    /// The same, after offsets that did not come.
    case newAfter(Range<Int64>)
    /// Not above what was read before: the record was taken in this assignment, or the log is another one. It is
    /// not to be worked on.
    case known(expected: Int64)
  }

  /// A partition's ledger. No optional: each look at one would copy the ledger.
  private struct Entry {
    var ledger: OffsetLedger
    /// False where nothing came, or where the partition is another member's.
    var hasBegun = false

    /// Begins where what came first is.
    mutating func begin(at offset: Int64) {
      ledger = OffsetLedger(nextOffset: offset)
      hasBegun = true
    }
  }

  /// The ledgers of each topic by partition.
  private var ledgers: [[Entry]]
  private var assigned: [Source] = []
  /// The number of the assignment: what was taken in an earlier one completes nothing in this one. 0: there is none.
  public private(set) var epoch: UInt32 = 0

  /// - Parameter topics: how many the member subscribes to.
  public init(topics: Int) { ledgers = Array(repeating: [], count: topics) }

  /// Partitions were assigned, all at once; what was taken before is forgotten.
  ///
  /// - Parameter epoch: another one than any before, and not 0.
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

  /// A record of an assigned partition was read.
  public mutating func received(_ source: Source, _ offset: Int64) -> Arrival {
    let place = Int(source.partition)
    if !ledgers[source.topic][place].hasBegun { ledgers[source.topic][place].begin(at: offset) }
    let expected = ledgers[source.topic][place].ledger.nextOffset
    guard offset >= expected else { return .known(expected: expected) }
    _ = ledgers[source.topic][place].ledger.received(offset)
    return offset == expected ? .new : .newAfter(expected..<offset)
  }

  /// A record is done. One of an earlier assignment changes nothing.
  public mutating func completed(_ source: Source, epoch: UInt32, _ offset: Int64) {
    guard epoch == self.epoch, ledgers[source.topic][Int(source.partition)].hasBegun else { return }
    _ = ledgers[source.topic][Int(source.partition)].ledger.completed(offset)
  }

  /// A partition was read to its end, one past its newest offset. Below it may be offsets that are no records, as the
  /// markers of transactions, which no record reports: without this the group would be behind by them for
  /// as long as no record comes.
  ///
  /// - Returns: the offsets that did not come, if there are any.
  public mutating func ended(_ source: Source, at end: Int64) -> Range<Int64>? {
    let place = Int(source.partition)
    guard ledgers[source.topic][place].hasBegun else {
      // All below is done, or no record. If the log is empty, its first record is to be the one at 0: what is missing
      // before another one was removed unread. That 0 is progress: the next owner is to know it, too.
      ledgers[source.topic][place].begin(at: end)
      return nil
    }
    let expected = ledgers[source.topic][place].ledger.nextOffset
    guard end > expected else { return nil }
    ledgers[source.topic][place].ledger.ended(at: end)
    return expected..<end
  }

  /// The partition's log starts again at this record, which is to be worked on; nothing that was taken of it before
  /// completes anything.
  public mutating func restart(_ source: Source, at offset: Int64) {
    let place = Int(source.partition)
    ledgers[source.topic][place].begin(at: offset)
    _ = ledgers[source.topic][place].ledger.received(offset)
  }

  /// The progress of each partition of which a record came.
  public var progress: [PartitionProgress<Source>] {
    assigned.compactMap { source in
      let entry = ledgers[source.topic][Int(source.partition)]
      guard entry.hasBegun else { return nil }
      return PartitionProgress(source, epoch: epoch, committable: entry.ledger.committable)
    }
  }

  /// The partitions were given back.
  public mutating func removeAll() {
    epoch = 0
    assigned = []
    for topic in ledgers.indices { ledgers[topic] = [] }
  }
}
