// SPDX-License-Identifier: Apache-2.0

/// The deadlines of everything in flight when all of them wait equally long.
///
/// Equal time-outs expire in the order in which they were set, so a linked list over the owner's dense slot
/// numbers is a complete timer: setting, cancelling and expiring are O(1), nothing is allocated.
public struct RequestDeadlines: Sendable {
  static let none = UInt32.max

  /// Links and due time of one slot; `due` 0 means that the slot has no deadline.
  struct Entry: Sendable {
    var previous: UInt32
    var next: UInt32
    var due: UInt64
  }

  var entries: [Entry]
  var first = none
  var last = none
  /// How long each entry waits, in milliseconds.
  public let timeout: UInt64
  /// Deadlines that are set.
  public internal(set) var count = 0

  /// - Parameters:
  ///   - capacity: slots `0 ..< capacity` may be used.
  ///   - timeout: milliseconds from `insert` to expiry, at least 1.
  public init(capacity: Int, timeout: UInt64) {
    precondition(timeout > 0 && capacity < Int(Self.none))
    self.timeout = timeout
    entries = Array(repeating: Entry(previous: Self.none, next: Self.none, due: 0), count: capacity)
  }

  /// When the oldest deadline falls due, in milliseconds of the caller's monotonic clock.
  public var next: UInt64? {
    first == Self.none ? nil : entries[Int(first)].due
  }

  /// True while the slot has a deadline.
  public func contains(_ slot: UInt32) -> Bool { entries[Int(slot)].due != 0 }

  /// Sets the deadline of a slot that has none. `now` must not go back between calls.
  public mutating func insert(_ slot: UInt32, now: UInt64) {
    precondition(entries[Int(slot)].due == 0, "the slot already has a deadline")
    entries[Int(slot)] = Entry(previous: last, next: Self.none, due: now + timeout)
    if last == Self.none { first = slot } else { entries[Int(last)].next = slot }
    last = slot
    count += 1
  }

  /// Cancels the slot's deadline; nothing happens when it has none.
  public mutating func remove(_ slot: UInt32) {
    let entry = entries[Int(slot)]
    guard entry.due != 0 else { return }
    if entry.previous == Self.none {
      first = entry.next
    } else {
      entries[Int(entry.previous)].next = entry.next
    }
    if entry.next == Self.none {
      last = entry.previous
    } else {
      entries[Int(entry.next)].previous = entry.previous
    }
    entries[Int(slot)].due = 0
    count -= 1
  }

  /// Takes out the oldest slot whose time has come, or nil.
  public mutating func expire(now: UInt64) -> UInt32? {
    guard first != Self.none, entries[Int(first)].due <= now else { return nil }
    let slot = first
    remove(slot)
    return slot
  }
}
