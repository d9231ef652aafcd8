// SPDX-License-Identifier: Apache-2.0

/// Ingest's requests: the one at hand, whose records are made one after the other, and all whose records Kafka has not
/// acknowledged. An offset is complete when Kafka has everything that was made of its request.
public struct IngestMachine: ~Copyable, Sendable {
  private var table: RequestTable
  private var walk: FanOut?
  /// The slot of the request at hand.
  public private(set) var slot = 0

  /// - Parameter capacity: requests that it can hold, 1 ..< 2³¹.
  public init(capacity: Int) { table = RequestTable(capacity: capacity) }

  /// Requests that are not complete.
  public var count: Int { table.count }
  /// Whether a further request has to wait.
  public var isFull: Bool { table.isFull }
  /// When the oldest request was made; nil without one. Looks at every slot.
  public var oldest: Int64? { table.oldest }
  /// When the request at hand was made, in milliseconds since the epoch.
  public var created: Int64 { table.entry(slot).created }
  /// Whether a request is at hand.
  public var isExpanding: Bool { walk != nil }

  // MARK: The request at hand

  /// Takes a request in; `make` says what becomes of it. There must be room.
  ///
  /// - Parameters:
  ///   - topic: the place of its topic.
  ///   - created: when it was made, in milliseconds since the epoch.
  public mutating func take(
    topic: UInt8 = 0, partition: Int32, epoch: UInt32, offset: Int64, created: Int64
  ) {
    slot = table.insert(
      topic: topic, partition: partition, epoch: epoch, offset: offset, created: created)
  }

  /// These records are made of the request that was taken last.
  public mutating func make(_ walk: FanOut) { self.walk = walk }

  /// The record to make next; nil when all are made.
  public var next: FanOut.Step? { walk?.next }

  /// The record that `next` named is made.
  public mutating func made() { walk?.advance() }

  /// All records of the request are made.
  ///
  /// - Returns: the request if Kafka has them already.
  public mutating func finish() -> RequestTable.Entry? {
    walk = nil
    return table.settle(slot)
  }

  /// The partitions are given back: the request at hand completes nothing, and the next owner makes all of it again.
  public mutating func drop() {
    if walk != nil { table.abandon(slot) }
    walk = nil
  }

  // MARK: Requests whose records are on their way

  /// One more record of the request at hand has to be acknowledged.
  public mutating func expect() { table.expect(slot) }

  /// The same of another request.
  public mutating func expect(_ slot: Int) { table.expect(slot) }

  /// A record of a request is acknowledged; returns the request when it was the last one.
  public mutating func settle(_ slot: Int) -> RequestTable.Entry? { table.settle(slot) }

  /// The request in a slot that is in use.
  public func entry(_ slot: Int) -> RequestTable.Entry { table.entry(slot) }
}
