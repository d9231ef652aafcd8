// SPDX-License-Identifier: Apache-2.0

import APNS
import Random
import Testing

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
    #expect(recent.isFirst(id(4)) == false)
    #expect(recent.isFirst(id(5)) == true)
    #expect(recent.isFirst(id(1)) == true, "the oldest left for the fifth")
  }

  @Test func `ids that are inherited late count from then`() {
    var recent = RecentIDs(capacity: 4)
    #expect(recent.isFirst(id(10)) == true)
    #expect(recent.isFirst(id(1)) == true, "nobody has said yet that it was taken")
    recent.inherit(window(1...3, capacity: 4))
    #expect(recent.isFirst(id(2)) == false)
    #expect(recent.isFirst(id(10)) == false)
    #expect(recent.isFirst(id(11)) == true)
  }

  @Test func `the whole replaces the part`() {
    var recent = RecentIDs(capacity: 4)
    recent.inherit(window(4...4, capacity: 4))
    recent.inherit(window(1...4, capacity: 4))
    for number in 1...4 as ClosedRange<UInt64> { #expect(recent.isFirst(id(number)) == false) }
    #expect(recent.memoryBytes == window(1...4, capacity: 4).memoryBytes)
  }

  @Test func `ids that were inherited late are dropped once the window is full`() {
    var recent = RecentIDs(capacity: 3)
    #expect(recent.isFirst(id(10)) == true)
    recent.inherit(window(1...3, capacity: 3))
    let both = recent.memoryBytes
    for number in 11...13 as ClosedRange<UInt64> { #expect(recent.isFirst(id(number)) == true) }
    #expect(recent.memoryBytes < both)
    #expect(recent.isFirst(id(1)) == true)
  }

  @Test
  func `after a full window that was kept, the whole counts for as many IDs as a window holds`() {
    var recent = RecentIDs(capacity: 3)
    recent.inherit(window(1...3, capacity: 3))
    #expect(recent.isFirst(id(10)) == true)
    recent.inherit(window(4...6, capacity: 3))
    #expect(recent.isFirst(id(11)) == true)
    #expect(recent.isFirst(id(5)) == false)
    #expect(recent.isFirst(id(12)) == true)
    #expect(recent.isFirst(id(13)) == true)
    #expect(recent.isFirst(id(5)) == true, "three others have been taken since")
  }

  @Test func `merged, the ids stand in their order: those of before do not become the newest`()
    throws
  {
    var recent = RecentIDs(capacity: 4)
    recent.inherit(window(1...2, capacity: 4))
    #expect(recent.isFirst(id(7)) == true)
    #expect(recent.isFirst(id(8)) == true)
    recent.remove(id(8))
    recent.inherit(window(3...6, capacity: 4))
    let merged = try #require(recent.merged())
    var numbers: [UInt64] = []
    merged.visit { numbers.append($0.low) }
    #expect(numbers == [4, 5, 6, 7])
  }

  @Test func `without a capacity nothing is remembered`() {
    var recent = RecentIDs(capacity: 0)
    recent.inherit(window(1...1, capacity: 1))
    #expect(recent.isFirst(id(1)) == true)
    #expect(recent.isFirst(id(1)) == true)
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
        #expect(recent.isFirst(id(known)) == false, "seed \(seed)")
      } else {
        #expect(recent.isFirst(id(next)) == true, "seed \(seed)")
        order.append(next)
        next += 1
      }
    }
  }
}
