// SPDX-License-Identifier: Apache-2.0

/// A bounded set of keys, each kept as 127 bits of its hash and one that marks it: open addressing, from half to three
/// quarters full once it has grown, which is 21 to 32 bytes for each key. Entries are moved back when one leaves, so that it
/// never decays.
///
/// Owner: the ingest loop.
struct KeySet: ~Copyable {
  private var slots: UnsafeMutablePointer<KeyHash.Value>
  private var capacity: Int
  private let limit: Int
  private(set) var count = 0
  /// Keys that were not taken in because the set was full, or that made room for a marked one.
  private(set) var refused = 0

  private static let vacant = KeyHash.Value(low: 0, high: 0)
  private static let initialSlots = 64

  /// A set of at most `limit` keys.
  init(limit: Int) {
    self.limit = limit
    capacity = Self.initialSlots
    slots = Self.allocate(Self.initialSlots)
  }

  /// What the table takes up.
  var bytes: Int { capacity * MemoryLayout<KeyHash.Value>.stride }

  deinit { slots.deallocate() }

  private static func allocate(_ count: Int) -> UnsafeMutablePointer<KeyHash.Value> {
    let slots = UnsafeMutablePointer<KeyHash.Value>.allocate(capacity: count)
    slots.initialize(repeating: vacant, count: count)
    return slots
  }

  /// Whether a key is marked; nil if it is not in the set.
  func find(_ key: KeyHash.Value) -> Bool? {
    let slot = slots[place(of: key)]
    return slot == Self.vacant ? nil : slot.high & 1 == 1
  }

  /// Where the key is, or the vacant slot where it would be.
  private func place(of key: KeyHash.Value) -> Int {
    var place = home(of: key)
    while slots[place] != Self.vacant,
      slots[place].low != key.low || (slots[place].high ^ key.high) > 1
    { place = after(place) }
    return place
  }

  /// Where its search begins: the hash as a fraction of the table, which need not be a power of two.
  private func home(of key: KeyHash.Value) -> Int {
    Int(key.low.multipliedFullWidth(by: UInt64(capacity)).high)
  }

  private func after(_ place: Int) -> Int { place + 1 == capacity ? 0 : place + 1 }

  /// How far it is from one place on to another.
  private func distance(_ from: Int, _ to: Int) -> Int {
    to >= from ? to - from : to - from + capacity
  }

  /// Takes a key in, unless the set is full; one that is there is marked as it is now. In a full set a marked one takes
  /// the place of another that is not.
  mutating func insert(_ key: KeyHash.Value, isMarked: Bool = false) {
    var place = place(of: key)
    let marked = KeyHash.Value(low: key.low, high: key.high & ~1 | (isMarked ? 1 : 0))
    guard slots[place] == Self.vacant else {
      slots[place] = marked
      return
    }
    if count >= limit {
      refused += 1
      guard isMarked, makeRoom(near: key) else { return }
      place = self.place(of: key)
    }
    if (count + 1) * 4 > capacity * 3 {
      grow()
      place = self.place(of: key)
    }
    slots[place] = marked
    count += 1
  }

  /// Removes a key that is not marked, from one of the next places; false if there is none.
  private mutating func makeRoom(near key: KeyHash.Value) -> Bool {
    var place = home(of: key)
    for _ in 0..<Self.initialSlots {
      let found = slots[place]
      if found != Self.vacant, found.high & 1 == 0 {
        remove(found)
        return true
      }
      place = after(place)
    }
    return false
  }

  mutating func remove(_ key: KeyHash.Value) {
    var hole = place(of: key)
    guard slots[hole] != Self.vacant else { return }
    count -= 1
    var next = hole
    while true {
      next = after(next)
      if slots[next] == Self.vacant { break }
      // An entry may fill the hole if its own search would pass there.
      if distance(home(of: slots[next]), next) >= distance(hole, next) {
        slots[hole] = slots[next]
        hole = next
      }
    }
    slots[hole] = Self.vacant
  }

  mutating func removeAll() {
    slots.deallocate()
    capacity = Self.initialSlots
    slots = Self.allocate(Self.initialSlots)
    count = 0
  }

  private mutating func grow() {
    let old = slots
    let oldCount = capacity
    capacity = oldCount + oldCount / 2
    slots = Self.allocate(capacity)
    for index in 0..<oldCount where old[index] != Self.vacant {
      slots[place(of: old[index])] = old[index]
    }
    old.deallocate()
  }
}
