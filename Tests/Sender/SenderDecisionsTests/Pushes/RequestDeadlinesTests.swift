// SPDX-License-Identifier: Apache-2.0

import SenderDecisions
import Testing
import Waiting

@Suite struct RequestDeadlinesTests {
  @Test func `deadlines expire in the order of insertion`() {
    var deadlines = RequestDeadlines(capacity: 4, timeout: 100)
    deadlines.insert(2, now: 1_000)
    deadlines.insert(0, now: 1_010)
    deadlines.insert(3, now: 1_010)
    #expect(deadlines.next == 1_100)
    #expect(deadlines.expire(now: 1_099) == nil)
    #expect(deadlines.expire(now: 1_100) == 2)
    #expect(deadlines.expire(now: 1_105) == nil)
    #expect(deadlines.expire(now: 2_000) == 0)
    #expect(deadlines.expire(now: 2_000) == 3)
    #expect(deadlines.expire(now: 2_000) == nil)
    #expect(deadlines.next == nil)
  }

  @Test func `a cancelled deadline never expires`() {
    var deadlines = RequestDeadlines(capacity: 3, timeout: 10)
    for slot in 0..<3 as Range<UInt32> { deadlines.insert(slot, now: 5) }
    deadlines.remove(1)
    deadlines.remove(1)
    #expect(!deadlines.contains(1))
    #expect(deadlines.count == 2)
    #expect(deadlines.expire(now: 99) == 0)
    #expect(deadlines.expire(now: 99) == 2)
  }

  @Test(arguments: 0..<30 as Range<UInt64>)
  func `deadlines agree with a sorted list in any order of events`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var deadlines = RequestDeadlines(capacity: 64, timeout: 50)
    var model: [(slot: UInt32, due: UInt64)] = []
    var now: UInt64 = 1
    for _ in 0..<5_000 {
      now += random.next() % 4
      let slot = UInt32(random.below(64))
      if random.oneIn(3) {
        deadlines.remove(slot)
        model.removeAll { $0.slot == slot }
      } else if !deadlines.contains(slot) {
        deadlines.insert(slot, now: now)
        model.append((slot, now + 50))
      }
      while let expired = deadlines.expire(now: now) {
        #expect(model.first.map { $0.slot == expired && $0.due <= now } == true, "seed \(seed)")
        model.removeFirst()
      }
      #expect(deadlines.count == model.count, "seed \(seed)")
      #expect(deadlines.next == model.first?.due, "seed \(seed)")
      if deadlines.next != model.first?.due { return }
    }
  }
}
