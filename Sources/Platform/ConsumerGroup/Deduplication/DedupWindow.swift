// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The newest `apns-id`s of one partition, to recognize duplicate notifications.
///
/// A ring holds the ids in the order of arrival, and an open-addressing table indexes them: 16 bytes per id for the
/// ring, 2 for the hash of its payload, and 14 for the table. All of them double until the window has reached its
/// capacity, so a quiet partition's window is small. When the window is full, the oldest id is evicted.
public struct DedupWindow: Sendable {
  /// The ring index of an id, and its hash: a lookup of another id need not read the ring, which costs a cache miss
  /// each time. Linear probing, no tombstones.
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
  /// A hash of the payload of each id in the ring.
  private var payloads: [UInt16]
  /// The ring index of the next id.
  var cursor = 0
  public internal(set) var count = 0
  /// True if an id was evicted because the window was full. The window then holds the newest ids; before that, all of
  /// them.
  public internal(set) var hasForgotten = false
  /// The newest push of each key among the same records.
  public var states: NewestStates
  public let capacity: Int

  /// - Parameter capacity: the number of ids to remember, 1 … 2³⁰.
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

  /// Doubles the ring, which is full and has not wrapped yet, and rebuilds the table.
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

  public var memoryBytes: Int {
    ring.count * (MemoryLayout<NotificationID>.size + MemoryLayout<UInt16>.size)
      + table.count * MemoryLayout<Place>.size
  }

  /// Inserts an id.
  ///
  /// - Parameter payload: a hash of its payload.
  /// - Returns: false if the id was in the window already; nothing changes then.
  public mutating func insert(_ id: NotificationID, payload: UInt16 = 0) -> Bool {
    let hash = Self.hash(of: id)
    guard table[place(of: id, hash)].isEmpty else { return false }
    if count == ring.count {
      if count < capacity { grow() } else { forgetOldest() }
    }
    ring[cursor] = id
    payloads[cursor] = payload
    // Removing the oldest id may have freed a slot before the one that was found.
    table[emptyPlace(for: hash)] = Place(hash: hash, index: cursor)
    cursor += 1
    if cursor == capacity { cursor = 0 }
    count += 1
    return true
  }

  public func contains(_ id: NotificationID) -> Bool {
    !table[place(of: id, Self.hash(of: id))].isEmpty
  }

  /// The hash of the payload of an id; nil if the id is not in the window.
  public func payload(of id: NotificationID) -> UInt16? {
    let found = table[place(of: id, Self.hash(of: id))]
    return found.isEmpty ? nil : payloads[found.index]
  }

  // MARK: Places
  // Inlined: a call would copy the whole window's value, and wait for what was written to it just before.

  /// Derived ids are hashes already, but a caller may use sequential ids of its own.
  static func hash(of id: NotificationID) -> UInt32 {
    let mixed = (id.high ^ (id.low &* 0x9E37_79B9_7F4A_7C15)) &* 0xD6E8_FEB8_6659_FD93
    return UInt32(truncatingIfNeeded: mixed >> 32)
  }

  /// The slot where the search for an id begins.
  @inline(__always)
  func home(_ hash: UInt32) -> Int {
    Int(truncatingIfNeeded: (UInt64(hash) &* UInt64(table.count)) >> 32)
  }

  @inline(__always)
  private func next(_ place: Int) -> Int { place + 1 == table.count ? 0 : place + 1 }

  /// The number of slots from one to another, in search direction.
  @inline(__always)
  private func distance(_ from: Int, _ to: Int) -> Int {
    to >= from ? to - from : to - from + table.count
  }

  /// The slot of an id; an empty one if it is not in the window.
  @inline(__always)
  private func place(of id: NotificationID, _ hash: UInt32) -> Int {
    var place = home(hash)
    while !table[place].isEmpty {
      if table[place].hash == hash, ring[table[place].index] == id { break }
      place = next(place)
    }
    return place
  }

  @inline(__always)
  private func emptyPlace(for hash: UInt32) -> Int {
    var place = home(hash)
    while !table[place].isEmpty { place = next(place) }
    return place
  }

  // MARK: Leaving

  /// Removes an id whose record was not processed after all. The newest id takes its place in the ring.
  @discardableResult
  public mutating func remove(_ id: NotificationID) -> Bool {
    let found = place(of: id, Self.hash(of: id))
    guard !table[found].isEmpty else { return false }
    let index = table[found].index
    takeOut(found)
    let newest = (cursor == 0 ? capacity : cursor) - 1
    if newest != index, !isFree(newest) {
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

  /// Frees an id, so that its next record is not a duplicate. Its place in the ring is kept.
  public mutating func free(_ id: NotificationID) {
    let found = place(of: id, Self.hash(of: id))
    guard !table[found].isEmpty else { return }
    let index = table[found].index
    takeOut(found)
    count += 1
    ring[index] = Self.free
  }

  /// Stands in the ring for an id that was freed.
  private static let free = NotificationID(high: .max, low: .max)

  /// True if the id at this place of the ring was freed. A record may have the id that stands for that: then the table
  /// has its place.
  @inline(__always)
  private func isFree(_ index: Int) -> Bool {
    guard ring[index] == Self.free else { return false }
    let known = table[place(of: Self.free, Self.hash(of: Self.free))]
    return known.isEmpty || known.index != index
  }

  /// Calls `body` with each id, the oldest first.
  public func visit(_ body: (NotificationID, _ payload: UInt16) -> Void) {
    visit(newest: count, body)
  }

  /// Calls `body` with each of the newest ids, in order of arrival.
  ///
  /// - Parameter wanted: the number of ids, 0 … `count`.
  public func visit(newest wanted: Int, _ body: (NotificationID, _ payload: UInt16) -> Void) {
    precondition(wanted >= 0 && wanted <= count)
    let first = cursor - wanted + capacity
    for step in 0..<wanted {
      let index = (first + step) % capacity
      if !isFree(index) { body(ring[index], payloads[index]) }
    }
  }

  /// Removes the id under the cursor (the oldest one, in a full window) from the table.
  private mutating func forgetOldest() {
    if !hasForgotten { hasForgotten = true }
    guard !isFree(cursor) else {
      count -= 1
      return
    }
    takeOut(place(of: ring[cursor], Self.hash(of: ring[cursor])))
  }

  /// Empties a slot and closes the gap.
  @inline(__always)
  private mutating func takeOut(_ place: Int) {
    var hole = place
    var place = next(hole)
    while !table[place].isEmpty {
      // An entry may move back into the hole if the hole is not before its home slot.
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
