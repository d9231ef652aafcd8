// SPDX-License-Identifier: Apache-2.0

/// The requests whose records are not all acknowledged yet, in slots of a table of fixed size. The slot is
/// what a record carries through the producer, so an acknowledgement needs no look-up.
///
/// Owner: the ingest loop.
struct RequestTable: ~Copyable {
  struct Entry {
    var offset: Int64
    var partition: Int32
    /// The assignment under which the request was taken; `noEpoch` if it was given up.
    var epoch: UInt32
    /// Records to be acknowledged, and one more while further ones may come. In a free slot: the next
    /// free one.
    var pending: Int32
  }

  /// No assignment has this number.
  static let noEpoch = UInt32.max

  private let entries: UnsafeMutablePointer<Entry>
  private let capacity: Int
  private var used = 0
  private var free: Int32 = -1
  /// Requests in the table.
  private(set) var count = 0

  init(capacity: Int) {
    precondition(capacity > 0 && capacity < Int32.max, "a table of a sensible size")
    self.capacity = capacity
    entries = .allocate(capacity: capacity)
  }

  deinit { entries.deallocate() }

  var isFull: Bool { count == capacity }

  /// Takes a request in and holds it until `settle` is called once for this call and once for each
  /// `expect`. The table must not be full.
  mutating func insert(partition: Int32, epoch: UInt32, offset: Int64) -> Int {
    precondition(count < capacity, "no room for a further request")
    let slot: Int
    if free >= 0 {
      slot = Int(free)
      free = entries[slot].pending
    } else {
      slot = used
      used += 1
    }
    (entries + slot).initialize(
      to: Entry(offset: offset, partition: partition, epoch: epoch, pending: 1))
    count += 1
    return slot
  }

  /// One more record of this request has to be acknowledged.
  mutating func expect(_ slot: Int) {
    entries[slot].pending += 1
  }

  /// The request is given up before its last record was made: it never completes its offset.
  mutating func abandon(_ slot: Int) {
    entries[slot].epoch = Self.noEpoch
    _ = settle(slot)
  }

  /// One record is acknowledged; returns the request when it was the last one.
  mutating func settle(_ slot: Int) -> Entry? {
    entries[slot].pending -= 1
    guard entries[slot].pending == 0 else { return nil }
    let entry = entries[slot]
    entries[slot].pending = free
    free = Int32(slot)
    count -= 1
    return entry
  }
}
