// SPDX-License-Identifier: Apache-2.0

/// A bounded set of keys, each kept as the 128 bits of its hash: open addressing, at most half full, entries
/// moved back when one leaves, so that it never decays.
///
/// Owner: the ingest loop.
struct KeySet: ~Copyable {
  private var slots: UnsafeMutablePointer<KeyHash.Value>
  private var mask: Int
  private let limit: Int
  private(set) var count = 0
  /// Keys that were not taken in because the set was full.
  private(set) var refused = 0

  private static let vacant = KeyHash.Value(low: 0, high: 0)
  private static let initialSlots = 64

  /// A set of at most `limit` keys.
  init(limit: Int) {
    self.limit = limit
    mask = Self.initialSlots - 1
    slots = Self.allocate(Self.initialSlots)
  }

  deinit { slots.deallocate() }

  private static func allocate(_ count: Int) -> UnsafeMutablePointer<KeyHash.Value> {
    let slots = UnsafeMutablePointer<KeyHash.Value>.allocate(capacity: count)
    slots.initialize(repeating: vacant, count: count)
    return slots
  }

  func contains(_ key: KeyHash.Value) -> Bool {
    slots[place(of: key)] != Self.vacant
  }

  /// Where the key is, or the vacant slot where it would be.
  private func place(of key: KeyHash.Value) -> Int {
    var place = Int(truncatingIfNeeded: key.low) & mask
    while slots[place] != key && slots[place] != Self.vacant { place = (place + 1) & mask }
    return place
  }

  /// Takes a key in, unless the set is full.
  mutating func insert(_ key: KeyHash.Value) {
    var place = place(of: key)
    guard slots[place] == Self.vacant else { return }
    guard count < limit else {
      refused += 1
      return
    }
    if (count + 1) * 2 > mask + 1 {
      grow()
      place = self.place(of: key)
    }
    slots[place] = key
    count += 1
  }

  mutating func remove(_ key: KeyHash.Value) {
    var hole = place(of: key)
    guard slots[hole] != Self.vacant else { return }
    count -= 1
    var next = hole
    while true {
      next = (next + 1) & mask
      if slots[next] == Self.vacant { break }
      // An entry may fill the hole if its own search would pass there.
      let home = Int(truncatingIfNeeded: slots[next].low) & mask
      if (next - home) & mask >= (next - hole) & mask {
        slots[hole] = slots[next]
        hole = next
      }
    }
    slots[hole] = Self.vacant
  }

  mutating func removeAll() {
    slots.deallocate()
    mask = Self.initialSlots - 1
    slots = Self.allocate(Self.initialSlots)
    count = 0
  }

  private mutating func grow() {
    let old = slots
    let oldCount = mask + 1
    mask = oldCount * 2 - 1
    slots = Self.allocate(oldCount * 2)
    for index in 0..<oldCount where old[index] != Self.vacant {
      slots[place(of: old[index])] = old[index]
    }
    old.deallocate()
  }
}
