// SPDX-License-Identifier: Apache-2.0

public import APNS

/// The newest `apns-id`s of one partition: says whether a notification was taken before.
///
/// A ring holds the ids in the order of arrival, an open-addressing table finds them: 16 bytes per id for the ring, 2 for
/// the hash of its payload, and 14 for the table. All double until the window has its size, so that a quiet partition's is
/// small. When the window is full, the oldest id leaves.
public struct DedupWindow: Sendable {
  /// The place of an id in the ring, and its hash: whoever looks for another one need not go there, which costs a miss of the
  /// cache each time. Linear probing, no tombstones.
  struct Place: Sendable, Equatable {
    private let bits: UInt64

    static let empty = Place(hash: 0, index: -1)

    init(hash: UInt32, index: Int) {
      bits = UInt64(hash) << 32 | UInt64(UInt32(truncatingIfNeeded: index + 1))
    }

    var isEmpty: Bool { self == .empty }
    var hash: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) }
    var index: Int { Int(UInt32(truncatingIfNeeded: bits)) - 1 }
  }

  var table: [Place]
  public internal(set) var ring: [NotificationID]
  /// A hash of the payload that came with each id of the ring.
  private var payloads: [UInt16]
  /// The ring's index for the next id.
  var cursor = 0
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
    let ids = min(capacity, Self.initialIDs)
    table = Self.table(for: ids)
    ring = Array(repeating: NotificationID(high: 0, low: 0), count: ids)
    payloads = Array(repeating: 0, count: ids)
  }

  private static let initialIDs = 256

  private static func table(for ids: Int) -> [Place] {
    Array(repeating: .empty, count: 4 + ids + ids / 4 * 3)
  }

  /// Doubles the ring, which is full and has not wrapped yet, and finds everything its place again.
  private mutating func grow() {
    let ids = min(capacity, ring.count * 2)
    ring.reserveCapacity(ids)
    while ring.count < ids { ring.append(NotificationID(high: 0, low: 0)) }
    payloads.append(contentsOf: repeatElement(0, count: ids - payloads.count))
    let old = table
    table = Self.table(for: ids)
    for entry in old where !entry.isEmpty { table[emptyPlace(for: entry.hash)] = entry }
    cursor = count
  }

  /// Bytes that the window occupies now.
  public var memoryBytes: Int {
    ring.count * (MemoryLayout<NotificationID>.size + MemoryLayout<UInt16>.size)
      + table.count * MemoryLayout<Place>.size
  }

  /// Takes the id in.
  ///
  /// - Parameter payload: a hash of what came with it.
  /// - Returns: false when it was in the window already; nothing changes then.
  public mutating func insert(_ id: NotificationID, payload: UInt16 = 0) -> Bool {
    let hash = Self.hash(of: id)
    guard table[place(of: id, hash)].isEmpty else { return false }
    if count == ring.count {
      if count < capacity { grow() } else { forgetOldest() }
    }
    ring[cursor] = id
    payloads[cursor] = payload
    // The oldest id's place may lie before the one that was found.
    table[emptyPlace(for: hash)] = Place(hash: hash, index: cursor)
    cursor += 1
    if cursor == capacity { cursor = 0 }
    count += 1
    return true
  }

  /// True if the id is in the window.
  public func contains(_ id: NotificationID) -> Bool {
    !table[place(of: id, Self.hash(of: id))].isEmpty
  }

  /// The hash of the payload that came with an id; nil if the id is not in the window.
  public func payload(of id: NotificationID) -> UInt16? {
    let found = table[place(of: id, Self.hash(of: id))]
    return found.isEmpty ? nil : payloads[found.index]
  }

  // MARK: Places

  /// Derived ids are hashes already, but a caller may give ids of its own that count up.
  static func hash(of id: NotificationID) -> UInt32 {
    let mixed = (id.high ^ (id.low &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    return UInt32(truncatingIfNeeded: mixed >> 32)
  }

  /// The place where the search for an id begins.
  func home(_ hash: UInt32) -> Int {
    Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(table.count)) >> 32)
  }

  private func next(_ place: Int) -> Int { place + 1 == table.count ? 0 : place + 1 }

  /// Places from one to another, in the direction of the search.
  private func distance(_ from: Int, _ to: Int) -> Int {
    to >= from ? to - from : to - from + table.count
  }

  /// The place of an id; an empty one if it is not in the window.
  private func place(of id: NotificationID, _ hash: UInt32) -> Int {
    var place = home(hash)
    while !table[place].isEmpty {
      if table[place].hash == hash, ring[table[place].index] == id { break }
      place = next(place)
    }
    return place
  }

  private func emptyPlace(for hash: UInt32) -> Int {
    var place = home(hash)
    while !table[place].isEmpty { place = next(place) }
    return place
  }

  // MARK: Leaving

  /// Takes an id back out: what came with it was not worked on after all. The newest id takes its place in the
  /// order.
  ///
  /// - Returns: whether it was in the window.
  @discardableResult
  public mutating func remove(_ id: NotificationID) -> Bool {
    let found = place(of: id, Self.hash(of: id))
    guard !table[found].isEmpty else { return false }
    let index = table[found].index
    takeOut(found)
    let newest = (cursor == 0 ? capacity : cursor) - 1
    if newest != index, ring[newest] != Self.free {
      let hash = Self.hash(of: ring[newest])
      table[place(of: ring[newest], hash)] = Place(hash: hash, index: index)
      ring[index] = ring[newest]
      payloads[index] = payloads[newest]
    } else if newest != index {
      ring[index] = Self.free
    }
    cursor = newest
    return true
  }

  /// An id is not taken any more, and what comes with it next is no repeat. Its place in the order stays, as that of an id
  /// that nothing has.
  public mutating func free(_ id: NotificationID) {
    let found = place(of: id, Self.hash(of: id))
    guard !table[found].isEmpty else { return }
    let index = table[found].index
    takeOut(found)
    count += 1
    ring[index] = Self.free
  }

  /// In the place of an id that is free again; it is in no table.
  private static let free = NotificationID(high: .max, low: .max)

  /// Calls `body` with each id, the oldest first.
  public func visit(_ body: (NotificationID, _ payload: UInt16) -> Void) {
    visit(newest: count, body)
  }

  /// Calls `body` with each of the newest ids, the oldest of them first.
  ///
  /// - Parameter wanted: how many, 0 … `count`.
  public func visit(
    newest wanted: Int, _ body: (NotificationID, _ payload: UInt16) -> Void
  ) {
    precondition(wanted >= 0 && wanted <= count)
    let first = cursor - wanted + capacity
    for step in 0..<wanted {
      let index = (first + step) % capacity
      if ring[index] != Self.free { body(ring[index], payloads[index]) }
    }
  }

  /// Takes the id under the cursor (the oldest, in a full window) out of the table.
  private mutating func forgetOldest() {
    hasForgotten = true
    guard ring[cursor] != Self.free else {
      count -= 1
      return
    }
    takeOut(place(of: ring[cursor], Self.hash(of: ring[cursor])))
  }

  /// Empties a place and closes the gap.
  private mutating func takeOut(_ place: Int) {
    var hole = place
    var place = next(hole)
    while !table[place].isEmpty {
      // The entry may move back to the hole if the hole is not before its home.
      if distance(home(table[place].hash), place) >= distance(hole, place) {
        table[hole] = table[place]
        hole = place
      }
      place = next(place)
    }
    table[hole] = .empty
    count -= 1
  }
}
