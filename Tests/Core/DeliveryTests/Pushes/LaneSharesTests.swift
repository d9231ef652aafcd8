// SPDX-License-Identifier: Apache-2.0

import Delivery
import Random
import Testing

@Suite struct LaneSharesTests {
  @Test func `one class alone has every stream`() {
    var shares = LaneShares(reserved: 20)
    #expect(shares.choose(transactional: true, retry: false, bulk: false) == .transactional)
    #expect(shares.choose(transactional: false, retry: true, bulk: false) == .retry)
    #expect(shares.choose(transactional: false, retry: false, bulk: true) == .bulk)
    #expect(shares.choose(transactional: false, retry: false, bulk: false) == nil)
  }

  @Test func `while all wait each gets its weight of any eleven streams`() {
    var shares = LaneShares(reserved: 20)
    var chosen: [SendClass] = []
    for _ in 0..<11 * 50 {
      chosen.append(shares.choose(transactional: true, retry: true, bulk: true)!)
    }
    for start in stride(from: 0, to: chosen.count, by: 11) {
      let round = chosen[start..<start + 11]
      #expect(round.count { $0 == .transactional } == 8)
      #expect(round.count { $0 == .retry } == 2)
      #expect(round.count { $0 == .bulk } == 1)
    }
  }

  @Test func `the share kept for transactional never takes the last stream from the others`() {
    for reserved in [0, 1, 20, 50, 90] {
      let shares = LaneShares(reserved: reserved)
      for capacity in 1...2_000 {
        let others = shares.othersAtMost(of: capacity)
        #expect(others >= 1 && others <= capacity)
        #expect(capacity - others <= capacity * reserved / 100)
      }
    }
    #expect(LaneShares(reserved: 20).othersAtMost(of: 1_000) == 800)
    #expect(LaneShares(reserved: 20).othersAtMost(of: 0) == 0)
  }

  /// Whatever waits and whenever: a class that waits is passed over at most a bounded number of times.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `no class is starved`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var shares = LaneShares(reserved: 20)
    var passedOver: [SendClass: Int] = [:]
    var waits = [true, true, true]
    for _ in 0..<20_000 {
      if random.oneIn(7) { waits[random.below(3)].toggle() }
      guard
        let chosen = shares.choose(transactional: waits[0], retry: waits[1], bulk: waits[2])
      else { continue }
      #expect(waits[Int(chosen.rawValue)], "seed \(seed)")
      for other in SendClass.allCases where waits[Int(other.rawValue)] && other != chosen {
        passedOver[other, default: 0] += 1
        #expect(passedOver[other]! <= 40, "seed \(seed): \(other) is starved")
      }
      passedOver[chosen] = 0
      for other in SendClass.allCases where !waits[Int(other.rawValue)] { passedOver[other] = 0 }
    }
  }
}

@Suite struct SendQueueTests {
  private func queue(reserved: Int = 20) -> SendQueue {
    SendQueue(shares: LaneShares(reserved: reserved))
  }

  @Test func `bulk leaves the reserved streams to transactional`() {
    var queue = queue()
    for slot in 0..<200 as Range<UInt32> { queue.append(slot, .bulk) }
    var opened = 0
    while queue.next(capacity: 100) != nil { opened += 1 }
    #expect(opened == 80)
    #expect(queue.open == 80)
    queue.append(1_000, .transactional)
    #expect(queue.next(capacity: 100) == 1_000)
    #expect(queue.next(capacity: 100) == nil)
    queue.ended(.bulk)
    #expect(queue.next(capacity: 100) == 80)
  }

  @Test func `a single stream serves every class`() {
    var queue = queue()
    queue.append(1, .bulk)
    #expect(queue.next(capacity: 1) == 1)
  }

  @Test func `demand is what would be sent now less what waits`() {
    var queue = queue()
    #expect(queue.demand(for: .transactional, free: 100, capacity: 100) == 100)
    #expect(queue.demand(for: .bulk, free: 100, capacity: 100) == 80)
    for slot in 0..<90 as Range<UInt32> { queue.append(slot, .bulk) }
    #expect(queue.demand(for: .bulk, free: 100, capacity: 100) == -10)
    #expect(queue.demand(for: .transactional, free: 100, capacity: 100) == 100)
    while queue.next(capacity: 100) != nil {}
    #expect(queue.demand(for: .bulk, free: 20, capacity: 100) == -10)
    #expect(queue.demand(for: .retry, free: 20, capacity: 100) == 0)
  }

  @Test func `pushes beside the line are not handed out, and count`() {
    var queue = SendQueue()
    for slot in 0..<10 as Range<UInt32> { queue.append(slot, slot < 5 ? .bulk : .transactional) }
    for _ in 0..<10 {
      guard let slot = queue.next(capacity: 100) else { break }
      queue.putBeside(slot, slot < 5 ? .bulk : .transactional)
    }
    #expect(queue.next(capacity: 100) == nil)
    #expect(queue.inLine == 0 && queue.beside == 10 && queue.count == 10 && queue.open == 0)
    #expect(queue.demand(for: .transactional, free: 100, capacity: 100) == 95)
    let gone = queue.removeAll(where: { $0 % 5 == 0 })
    #expect(gone == [5, 0] && queue.beside == 8)
    queue.bringBack()
    #expect(queue.inLine == 8 && queue.beside == 0)
    var slots: [UInt32] = []
    while let slot = queue.next(capacity: 100) { slots.append(slot) }
    #expect(slots.sorted() == [1, 2, 3, 4, 6, 7, 8, 9])
  }

  @Test func `every slot comes out once in the order of its class`() {
    var queue = queue(reserved: 0)
    var expected: [SendClass: [UInt32]] = [:]
    for slot in 0..<300 as Range<UInt32> {
      let sendClass = SendClass.allCases[Int(slot) % 3]
      if slot % 10 == 0 {
        queue.prepend(slot, sendClass)
        expected[sendClass, default: []].insert(slot, at: 0)
      } else {
        queue.append(slot, sendClass)
        expected[sendClass, default: []].append(slot)
      }
    }
    #expect(queue.total == 300)
    var seen: [SendClass: [UInt32]] = [:]
    while let slot = queue.next(capacity: 1_000) {
      seen[SendClass.allCases[Int(slot) % 3], default: []].append(slot)
    }
    #expect(seen == expected)
  }
}
