// SPDX-License-Identifier: Apache-2.0

/// A first-in, first-out line of slot indices in a ring that doubles when full. No allocation when warm.
package struct SlotQueue: Sendable {
  @usableFromInline var ring: [UInt32] = Array(repeating: 0, count: 8)
  @usableFromInline var head = 0
  /// Slots in line.
  @usableFromInline package internal(set) var count = 0

  package init() {}

  @inlinable package var isEmpty: Bool { count == 0 }
  /// The slot whose turn is next.
  @inlinable package var first: UInt32? { isEmpty ? nil : ring[head] }

  @inlinable package mutating func append(_ slot: UInt32) {
    if count == ring.count { grow() }
    ring[(head + count) & (ring.count - 1)] = slot
    count += 1
  }

  /// Puts a slot in front of the line: a push that was refused unprocessed goes before those that never left.
  @inlinable package mutating func prepend(_ slot: UInt32) {
    if count == ring.count { grow() }
    head = (head + ring.count - 1) & (ring.count - 1)
    ring[head] = slot
    count += 1
  }

  @inlinable package mutating func popFirst() -> UInt32? {
    if isEmpty { return nil }
    let slot = ring[head]
    head = (head + 1) & (ring.count - 1)
    count -= 1
    return slot
  }

  /// Takes the slots out that are gone for some reason; the others keep their order.
  package mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    var gone: [UInt32] = []
    for _ in 0..<count {
      guard let slot = popFirst() else { break }
      if isGone(slot) { gone.append(slot) } else { append(slot) }
    }
    return gone
  }

  @usableFromInline mutating func grow() {
    var larger: [UInt32] = Array(repeating: 0, count: ring.count * 2)
    for index in 0..<count { larger[index] = ring[(head + index) & (ring.count - 1)] }
    ring = larger
    head = 0
  }
}
