// SPDX-License-Identifier: Apache-2.0

/// A first-in, first-out line of slot indices in a ring that doubles when full. No allocation when warm.
public struct SlotQueue: Sendable {
  /// Empty until the first slot comes: most classes of most destinations never have one.
  var ring: [UInt32] = []
  var head = 0
  /// Slots in line.
  public internal(set) var count = 0

  public init() {}

  public var isEmpty: Bool { count == 0 }
  /// The slot whose turn is next.
  public var first: UInt32? { isEmpty ? nil : ring[head] }

  public mutating func append(_ slot: UInt32) {
    if count == ring.count { grow() }
    ring[(head + count) & (ring.count - 1)] = slot
    count += 1
  }

  /// Puts a slot in front of the line: a push that was refused unprocessed goes before those that never left.
  public mutating func prepend(_ slot: UInt32) {
    if count == ring.count { grow() }
    head = (head + ring.count - 1) & (ring.count - 1)
    ring[head] = slot
    count += 1
  }

  public mutating func popFirst() -> UInt32? {
    if isEmpty { return nil }
    let slot = ring[head]
    head = (head + 1) & (ring.count - 1)
    count -= 1
    return slot
  }

  /// Takes the slots out that are gone for some reason; the others keep their order.
  public mutating func removeAll(where isGone: (UInt32) -> Bool) -> [UInt32] {
    var gone: [UInt32] = []
    for _ in 0..<count {
      guard let slot = popFirst() else { break }
      if isGone(slot) { gone.append(slot) } else { append(slot) }
    }
    return gone
  }

  mutating func grow() {
    var larger: [UInt32] = Array(repeating: 0, count: max(8, ring.count * 2))
    for index in 0..<count { larger[index] = ring[(head + index) & (ring.count - 1)] }
    ring = larger
    head = 0
  }
}
