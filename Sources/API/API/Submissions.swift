// SPDX-License-Identifier: Apache-2.0

/// The bodies in progress, by numbers that fit into a record's tag.
struct Submissions {
  private var slots: [Submission?] = []
  private var free: [Int] = []

  mutating func insert(_ submission: Submission) -> Int {
    if let slot = free.popLast() {
      slots[slot] = submission
      return slot
    }
    slots.append(submission)
    return slots.count - 1
  }

  subscript(slot: Int) -> Submission? { slot < slots.count ? slots[slot] : nil }

  /// Removes a body to which no record in flight refers.
  mutating func remove(_ slot: Int) {
    slots[slot] = nil
    free.append(slot)
  }

  /// All bodies, starting with another one each turn.
  func inTurn(_ number: UInt64) -> [Submission] {
    let first = slots.isEmpty ? 0 : Int(number % UInt64(slots.count))
    return (slots[first...] + slots[..<first]).compactMap { $0 }
  }

  var isEmpty: Bool { free.count == slots.count }
}

/// The reference in a record's tag: a body, and the position of the status in one of its verdicts.
struct VerdictTag {
  private static let offsetBits: UInt = 40

  let slot: Int
  let offset: Int

  init(slot: Int, offset: Int) {
    self.slot = slot
    self.offset = offset
  }

  init(tag: UInt) {
    slot = Int(tag >> Self.offsetBits)
    offset = Int(tag & (1 << Self.offsetBits - 1))
  }

  var tag: UInt { UInt(slot) << Self.offsetBits | UInt(offset) }
}
