// SPDX-License-Identifier: Apache-2.0

/// The requests whose records are not all acknowledged yet, in slots of a table of fixed size. The slot is
/// what a record carries through the producer, so an acknowledgement needs no look-up.
public struct RequestTable: ~Copyable, Sendable {
  public struct Entry: Sendable {
    public var offset: Int64
    public var partition: Int32
    /// The assignment under which the request was taken; `noEpoch` if it was given up.
    public var epoch: UInt32
    /// Which of the topics that requests come from.
    public var topic: UInt8
    /// Records to be acknowledged, and one more while further ones may come. In a free slot: the next
    /// free one.
    public var pending: Int32
    /// When the request was made, in milliseconds since the epoch; `.max` in a free slot.
    var created: Int64

    init(
      offset: Int64, topic: UInt8, partition: Int32, epoch: UInt32, pending: Int32, created: Int64
    ) {
      self.offset = offset
      self.topic = topic
      self.created = created
      self.partition = partition
      self.epoch = epoch
      self.pending = pending
    }
  }

  /// No assignment has this number.
  public static let noEpoch = UInt32.max

  var entries: [Entry]
  let capacity: Int
  var free: Int32 = -1
  /// Requests in the table.
  public internal(set) var count = 0

  /// - Parameter capacity: requests that it can hold, 1 ..< 2³¹; memory is taken as they come.
  public init(capacity: Int) {
    precondition(capacity > 0 && capacity < Int32.max, "a table of a sensible size")
    self.capacity = capacity
    entries = []
  }

  public var isFull: Bool { count == capacity }

  /// Takes a request in and holds it until `settle` is called once for this call and once for each
  /// `expect`. The table must not be full.
  ///
  /// - Parameter created: when it was made, in milliseconds since the epoch.
  public mutating func insert(
    topic: UInt8 = 0, partition: Int32, epoch: UInt32, offset: Int64, created: Int64
  ) -> Int {
    precondition(count < capacity, "no room for a further request")
    let entry = Entry(
      offset: offset, topic: topic, partition: partition, epoch: epoch, pending: 1,
      created: created)
    count += 1
    guard free >= 0 else {
      entries.append(entry)
      return entries.count - 1
    }
    let slot = Int(free)
    free = entries[slot].pending
    entries[slot] = entry
    return slot
  }

  /// When the oldest request of the table was made; nil if it is empty. Looks at every slot.
  public var oldest: Int64? {
    count > 0 ? entries.lazy.map(\.created).min() : nil
  }

  /// The request in a slot that is in use.
  public func entry(_ slot: Int) -> Entry { entries[slot] }

  /// One more record of this request has to be acknowledged.
  public mutating func expect(_ slot: Int) { entries[slot].pending += 1 }

  /// The request is given up before its last record was made: it never completes its offset.
  public mutating func abandon(_ slot: Int) {
    entries[slot].epoch = Self.noEpoch
    _ = settle(slot)
  }

  /// One record is acknowledged; returns the request when it was the last one.
  public mutating func settle(_ slot: Int) -> Entry? {
    entries[slot].pending -= 1
    guard entries[slot].pending == 0 else { return nil }
    let entry = entries[slot]
    entries[slot].pending = free
    entries[slot].created = .max
    free = Int32(slot)
    count -= 1
    return entry
  }
}
