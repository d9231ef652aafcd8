// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing
import Waiting

@testable import ConsumerGroup

@Suite struct RecentIDsTests {
  private func id(_ number: UInt64) -> NotificationID { NotificationID(high: 7, low: number) }

  private func window(_ numbers: ClosedRange<UInt64>, capacity: Int) -> DedupWindow {
    var window = DedupWindow(capacity: capacity)
    for number in numbers { _ = window.insert(id(number)) }
    return window
  }

  @Test func `ids that were inherited before the first one are part of the window`() {
    var recent = RecentIDs(capacity: 4)
    recent.inherit(window(1...4, capacity: 4))
    #expect(recent.take(id(4), payload: 0) != .first)
    #expect(recent.take(id(5), payload: 0) == .first)
    #expect(recent.take(id(1), payload: 0) == .first, "the oldest left for the fifth")
  }

  @Test func `ids that are inherited late count from then`() {
    var recent = RecentIDs(capacity: 4)
    #expect(recent.take(id(10), payload: 0) == .first)
    #expect(recent.take(id(1), payload: 0) == .first, "nobody has said yet that it was taken")
    recent.inherit(window(1...3, capacity: 4))
    #expect(recent.take(id(2), payload: 0) != .first)
    #expect(recent.take(id(10), payload: 0) != .first)
    #expect(recent.take(id(11), payload: 0) == .first)
  }

  @Test func `the whole replaces the part`() {
    var recent = RecentIDs(capacity: 4)
    recent.inherit(window(4...4, capacity: 4))
    recent.inherit(window(1...4, capacity: 4))
    for number in 1...4 as ClosedRange<UInt64> {
      #expect(recent.take(id(number), payload: 0) != .first)
    }
    #expect(recent.memoryBytes == window(1...4, capacity: 4).memoryBytes)
  }

  @Test func `ids that were inherited late are dropped once the window is full`() {
    var recent = RecentIDs(capacity: 3)
    #expect(recent.take(id(10), payload: 0) == .first)
    recent.inherit(window(1...3, capacity: 3))
    let both = recent.memoryBytes
    for number in 11...13 as ClosedRange<UInt64> {
      #expect(recent.take(id(number), payload: 0) == .first)
    }
    #expect(recent.memoryBytes < both)
    #expect(recent.take(id(1), payload: 0) == .first)
  }

  @Test
  func `after a full window that was kept, the whole counts for as many IDs as a window holds`() {
    var recent = RecentIDs(capacity: 3)
    recent.inherit(window(1...3, capacity: 3))
    #expect(recent.take(id(10), payload: 0) == .first)
    recent.inherit(window(4...6, capacity: 3))
    #expect(recent.take(id(11), payload: 0) == .first)
    #expect(recent.take(id(5), payload: 0) != .first)
    #expect(recent.take(id(12), payload: 0) == .first)
    #expect(recent.take(id(13), payload: 0) == .first)
    #expect(recent.take(id(5), payload: 0) == .first, "three others have been taken since")
  }

  @Test
  func `merged, the ids stand in their order: those of before do not become the newest`() throws {
    var recent = RecentIDs(capacity: 4)
    recent.inherit(window(1...2, capacity: 4))
    #expect(recent.take(id(7), payload: 0) == .first)
    #expect(recent.take(id(8), payload: 0) == .first)
    recent.remove(id(8))
    recent.inherit(window(3...6, capacity: 4))
    let merged = try #require(recent.merged())
    var numbers: [UInt64] = []
    merged.visit { id, _ in numbers.append(id.low) }
    #expect(numbers == [4, 5, 6, 7])
  }

  @Test func `without a capacity nothing is remembered`() {
    var recent = RecentIDs(capacity: 0)
    recent.inherit(window(1...1, capacity: 1))
    #expect(recent.take(id(1), payload: 0) == .first)
    #expect(recent.take(id(1), payload: 0) == .first)
    #expect(recent.memoryBytes == 0)
  }

  /// Whenever the ids of before come, no repeat among the last `capacity` ids is missed from then on.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `repeats are found whenever the IDs of before come`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let capacity = Int.random(in: 1...40, using: &random)
    let before = UInt64(capacity)
    var recent = RecentIDs(capacity: capacity)
    let arrival = Int.random(in: 0...2 * capacity, using: &random)
    var order: [UInt64] = []
    var next = before
    for step in 0..<5 * capacity {
      if step == arrival { recent.inherit(window(0...before - 1, capacity: capacity)) }
      if !order.isEmpty, Bool.random(using: &random) {
        let known = order.suffix(capacity).randomElement(using: &random)!
        #expect(recent.take(id(known), payload: 0) != .first, "seed \(seed)")
      } else {
        #expect(recent.take(id(next), payload: 0) == .first, "seed \(seed)")
        order.append(next)
        next += 1
      }
    }
  }

  @Test func `a repeat with another payload is told from one with the same`() {
    var recent = RecentIDs(capacity: 8)
    #expect(recent.take(id(1), payload: 7) == .first)
    #expect(recent.take(id(1), payload: 7) == .repeated)
    #expect(recent.take(id(1), payload: 8) == .otherPayload)
    #expect(recent.take(id(1), payload: 7) == .repeated, "the first one counts")
    var late = DedupWindow(capacity: 8)
    #expect(late.insert(id(5), payload: 3) == true)
    recent.inherit(late)
    #expect(recent.take(id(5), payload: 3) == .repeated)
    #expect(recent.take(id(5), payload: 4) == .otherPayload)
    var merged = recent.merged()
    #expect(merged?.payload(of: id(1)) == 7 && merged?.payload(of: id(5)) == 3)
    merged = nil
  }

  @Test func `what was freed before its window came is free in that`() {
    var recent = RecentIDs(capacity: 8)
    #expect(recent.take(id(9), payload: 0) == .first)
    recent.free(id(2), isReading: true)
    recent.free(id(9), isReading: true)
    #expect(recent.take(id(9), payload: 0) == .first)
    for isWhole in [false, true] {
      recent.inherit(window(1...3, capacity: 8), isWhole: isWhole)
      #expect(recent.take(id(1), payload: 0) == .repeated)
    }
    #expect(recent.take(id(2), payload: 0) == .first)
    #expect(recent.take(id(2), payload: 0) == .repeated)
    #expect(recent.take(id(9), payload: 0) == .repeated, "taken again since it was freed")
  }

  @Test func `what is free again is first, whoever took it`() {
    var recent = RecentIDs(capacity: 8)
    recent.inherit(window(1...3, capacity: 8))
    #expect(recent.take(id(4), payload: 0) == .first)
    recent.inherit(window(5...6, capacity: 8))
    for number in [1, 4, 5] as [UInt64] {
      #expect(recent.take(id(number), payload: 0) == .repeated)
      recent.free(id(number))
      #expect(recent.take(id(number), payload: 0) == .first)
    }
    let merged = recent.merged()
    for number in 1...6 as ClosedRange<UInt64> {
      #expect(merged?.contains(id(number)) == true || number < 4, "id \(number)")
    }
  }

  @Test func `without a window every id is the first`() {
    var recent = RecentIDs(capacity: 0)
    for _ in 0..<2 { #expect(recent.take(id(1), payload: 0) == .first) }
    recent.free(id(1))
  }
}
