// SPDX-License-Identifier: Apache-2.0

public import APNS

/// The newest `apns-id`s of one partition: says whether a notification was taken before.
///
/// A ring holds the ids in the order of arrival, an open-addressing table finds them: 16 bytes per id for the ring
/// and 8…16 for the table. Both double until the window has its size, so that a quiet partition's is small. When
/// the window is full, the oldest id leaves.
public struct DedupWindow: Sendable {
  /// Ring indices plus one; 0 is an empty place. Linear probing, no tombstones.
  var table: [UInt32]
  public internal(set) var ring: [NotificationID]
  /// The ring's index for the next id.
  var cursor = 0
  var mask: Int
  /// Ids in the window.
  public internal(set) var count = 0
  /// True if an id has left because the window was full. The window then has the newest ids; before that, all of them.
  public internal(set) var hasForgotten = false
  /// The newest pushes of the keys among the same records.
  public var states: NewestStates
  /// The most ids the window holds.
  public let capacity: Int

  /// - Parameter capacity: ids to remember, 1 … 2³⁰.
  public init(capacity: Int) {
    precondition(capacity >= 1 && capacity <= 1 << 30)
    self.capacity = capacity
    states = NewestStates(capacity: max(2, capacity))
    let places = min(capacity, Self.initialPlaces)
    let tablePlaces = Self.tablePlaces(for: places)
    mask = tablePlaces - 1
    table = Array(repeating: 0, count: tablePlaces)
    ring = Array(repeating: NotificationID(high: 0, low: 0), count: places)
  }

  private static let initialPlaces = 256

  private static func tablePlaces(for ids: Int) -> Int {
    var places = 16
    while places < ids * 2 { places *= 2 }
    return places
  }

  /// Doubles the ring, which is full and has not wrapped yet, and finds everything its place again.
  mutating func grow() {
    let places = min(capacity, ring.count * 2)
    ring.reserveCapacity(places)
    while ring.count < places { ring.append(NotificationID(high: 0, low: 0)) }
    let tablePlaces = Self.tablePlaces(for: places)
    mask = tablePlaces - 1
    table = Array(repeating: 0, count: tablePlaces)
    for index in 0..<count {
      var place = home(of: ring[index])
      while table[place] != 0 { place = (place + 1) & mask }
      table[place] = UInt32(truncatingIfNeeded: index + 1)
    }
    cursor = count
  }

  /// Bytes that the window occupies now.
  public var memoryBytes: Int { ring.count * 16 + table.count * 4 }

  /// Takes the id in.
  ///
  /// - Returns: false when it was in the window already; nothing changes then.
  public mutating func insert(_ id: NotificationID) -> Bool {
    var place = home(of: id)
    while table[place] != 0 {
      if ring[Int(table[place]) - 1] == id { return false }
      place = (place + 1) & mask
    }
    if count == ring.count {
      if count < capacity { grow() } else { forgetOldest() }
      // The oldest id's place may lie in this very run of places: look for the empty place again.
      place = home(of: id)
      while table[place] != 0 { place = (place + 1) & mask }
    }
    ring[cursor] = id
    table[place] = UInt32(truncatingIfNeeded: cursor + 1)
    cursor += 1
    if cursor == capacity { cursor = 0 }
    count += 1
    return true
  }

  /// True if the id is in the window.
  public func contains(_ id: NotificationID) -> Bool {
    var place = home(of: id)
    while table[place] != 0 {
      if ring[Int(table[place]) - 1] == id { return true }
      place = (place + 1) & mask
    }
    return false
  }

  /// The place where the search for an id begins. Derived ids are hashes already, but a caller may give
  /// ids of its own that count up.
  public func home(of id: NotificationID) -> Int {
    let mixed = (id.high ^ (id.low &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    return Int(truncatingIfNeeded: mixed >> 32) & mask
  }

  /// Takes an id back out: what came with it was not worked on after all. The newest id takes its place in the
  /// order.
  ///
  /// - Returns: whether it was in the window.
  @discardableResult
  public mutating func remove(_ id: NotificationID) -> Bool {
    var place = home(of: id)
    while table[place] != 0, ring[Int(table[place]) - 1] != id { place = (place + 1) & mask }
    guard table[place] != 0 else { return false }
    let index = Int(table[place]) - 1
    takeOut(index)
    let newest = (cursor == 0 ? capacity : cursor) - 1
    if newest != index {
      var place = home(of: ring[newest])
      while table[place] != UInt32(truncatingIfNeeded: newest + 1) { place = (place + 1) & mask }
      table[place] = UInt32(truncatingIfNeeded: index + 1)
      ring[index] = ring[newest]
    }
    cursor = newest
    return true
  }

  /// Calls `body` with each id, the oldest first.
  public func visit(_ body: (NotificationID) -> Void) { visit(newest: count, body) }

  /// Calls `body` with each of the newest ids, the oldest of them first.
  ///
  /// - Parameter wanted: how many, 0 … `count`.
  public func visit(newest wanted: Int, _ body: (NotificationID) -> Void) {
    precondition(wanted >= 0 && wanted <= count)
    let first = cursor - wanted + capacity
    for step in 0..<wanted { body(ring[(first + step) % capacity]) }
  }

  /// Takes the id under the cursor (the oldest, in a full window) out of the table.
  mutating func forgetOldest() {
    hasForgotten = true
    takeOut(cursor)
  }

  /// Takes the id at a ring's index out of the table and closes the gap.
  mutating func takeOut(_ index: Int) {
    let oldest = UInt32(truncatingIfNeeded: index + 1)
    var hole = home(of: ring[index])
    while table[hole] != oldest { hole = (hole + 1) & mask }
    var next = (hole + 1) & mask
    while table[next] != 0 {
      let wanted = home(of: ring[Int(table[next]) - 1])
      // The entry may move back to the hole if the hole is not before its home.
      if (next - wanted) & mask >= (next - hole) & mask {
        table[hole] = table[next]
        hole = next
      }
      next = (next + 1) & mask
    }
    table[hole] = 0
    count -= 1
  }
}
