// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing
import Waiting

@testable import SenderDecisions

/// Lanes with these weights, of which the first reserves so many percent.
private func lanes(weights: [Int32] = [8, 1], reserved: [Int] = [20]) -> Lanes {
  let rules = weights.enumerated().map { place, weight in
    Lanes.Rule(
      "lane-\(place)", weight: weight, maxAge: 3_600_000,
      reserved: place < reserved.count ? reserved[place] : 0)
  }
  return (try? Lanes(rules)) ?? .standard
}

private let all = (0..<3).map { SendClass(place: $0) }
private let bulk = SendClass(.bulk)

@Suite struct LaneSharesTests {
  @Test func `one class alone has every stream`() {
    var shares = LaneShares(lanes())
    #expect(all.map { shares.choose(among: 1 << $0.place) } == all)
    let none = shares.choose(among: 0)
    #expect(none == nil)
  }

  @Test func `while all wait each gets its weight of any eleven streams`() {
    var shares = LaneShares(lanes())
    let chosen = (0..<11 * 50).map { _ in shares.choose(among: 0b111) }
    for start in stride(from: 0, to: chosen.count, by: 11) {
      let round = chosen[start..<start + 11]
      #expect(round.count { $0 == .first } == 8)
      #expect(round.count { $0 == .retry } == 2)
      #expect(round.count { $0 == bulk } == 1)
    }
  }

  @Test func `of eight lanes each gets its weight, and so do retries`() {
    let weights: [Int32] = [30, 20, 10, 5, 4, 3, 2, 1]
    var shares = LaneShares(lanes(weights: weights))
    let sum = Int(weights.reduce(2, +))
    var counts = ByClass(repeating: 0)
    for _ in 0..<sum * 10 {
      guard let chosen = shares.choose(among: 0b1_1111_1111) else { continue }
      counts[Int(chosen.place)] += 1
    }
    #expect((0..<9).map { counts[$0] / 10 } == [30, 2, 20, 10, 5, 4, 3, 2, 1])
  }

  @Test func `every class is that of its lane, and they follow each other`() {
    let shares = LaneShares(lanes(weights: [1, 1, 1]))
    #expect(SendClass.retry.lane == nil)
    for lane in lanes(weights: [1, 1, 1]).all { #expect(SendClass(lane).lane == lane) }
    var classes = [SendClass.first]
    while let next = shares.next(after: classes[classes.count - 1]) { classes.append(next) }
    #expect(classes.map(\.place) == [0, 1, 2, 3])
  }

  @Test func `the share kept for transactional never takes the last stream from the others`() {
    for reserved in [0, 1, 20, 50, 90] {
      let shares = LaneShares(lanes(reserved: [reserved]))
      for capacity in 1...2_000 {
        let others = shares.room(for: bulk, of: capacity, open: ByClass(repeating: 0))
        #expect(others >= 1 && others <= capacity)
        #expect(capacity - others <= capacity * reserved / 100)
      }
    }
  }

  @Test func `each reserve binds the classes behind its lane`() {
    let shares = LaneShares(lanes(weights: [8, 4, 1], reserved: [20, 30, 0]))
    func room(_ open: [Int]) -> [Int] {
      var counts = ByClass(repeating: 0)
      for (place, count) in open.enumerated() { counts[place] = count }
      return (0..<4).map { shares.room(for: SendClass(place: $0), of: 100, open: counts) }
    }
    #expect(room([0, 0, 0, 0]) == [100, 80, 80, 50])
    #expect(room([0, 10, 20, 30]) == [40, 20, 20, 20])
    #expect(room([60, 0, 0, 30]) == [10, 10, 10, 10])
    #expect(room([0, 0, 0, 60]) == [40, 20, 20, -10])
    var open = ByClass(repeating: 0)
    open[3] = 50
    #expect(shares.allowed(0b1111, of: 100, open: open) == 0b0111)
    open[1] = 30
    #expect(shares.allowed(0b1111, of: 100, open: open) == 0b0001)
    #expect(shares.allowed(0b0001, of: 0, open: open) == 0b0001)
  }

  /// Whatever waits and whenever: a class that waits is passed over at most a bounded number of times.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `no class is starved`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var shares = LaneShares(lanes())
    var passedOver: [SendClass: Int] = [:]
    var waits = [true, true, true]
    for _ in 0..<20_000 {
      if random.oneIn(7) { waits[random.below(3)].toggle() }
      let mask = all.reduce(UInt16(0)) { waits[Int($1.place)] ? $0 | 1 << $1.place : $0 }
      guard let chosen = shares.choose(among: mask) else { continue }
      #expect(waits[Int(chosen.place)], "seed \(seed)")
      for other in all where waits[Int(other.place)] && other != chosen {
        passedOver[other, default: 0] += 1
        #expect(passedOver[other]! <= 40, "seed \(seed): \(other) is starved")
      }
      passedOver[chosen] = 0
      for other in all where !waits[Int(other.place)] { passedOver[other] = 0 }
    }
  }
}

@Suite struct SendQueueTests {
  private func queue(reserved: Int = 20) -> SendQueue {
    SendQueue(shares: LaneShares(lanes(reserved: [reserved])))
  }

  @Test func `bulk leaves the reserved streams to transactional`() {
    var queue = queue()
    for slot in 0..<200 as Range<UInt32> { queue.append(slot, bulk) }
    var opened = 0
    while queue.next(capacity: 100) != nil { opened += 1 }
    #expect(opened == 80)
    #expect(queue.open == 80)
    queue.append(1_000, .first)
    #expect(queue.next(capacity: 100) == 1_000)
    #expect(queue.next(capacity: 100) == nil)
    queue.ended(bulk)
    #expect(queue.next(capacity: 100) == 80)
  }

  @Test func `the first lane is there while its pushes are in line or open, not while held`() {
    var queue = queue()
    queue.append(1, bulk)
    queue.append(2, .retry)
    #expect(!queue.hasFirst)
    queue.append(3, .first)
    #expect(queue.hasFirst)
    while queue.next(capacity: 100) != nil {}
    #expect(queue.hasFirst)
    queue.hold(3, .first)
    #expect(!queue.hasFirst)
  }

  @Test func `a single stream serves every class`() {
    var queue = queue()
    queue.append(1, bulk)
    #expect(queue.next(capacity: 1) == 1)
  }

  @Test func `demand is what would be sent now less what waits`() {
    var queue = queue()
    #expect(queue.demand(for: .first, free: 100, capacity: 100) == 100)
    #expect(queue.demand(for: bulk, free: 100, capacity: 100) == 80)
    for slot in 0..<90 as Range<UInt32> { queue.append(slot, bulk) }
    #expect(queue.demand(for: bulk, free: 100, capacity: 100) == -10)
    #expect(queue.demand(for: .first, free: 100, capacity: 100) == 100)
    while queue.next(capacity: 100) != nil {}
    #expect(queue.demand(for: bulk, free: 20, capacity: 100) == -10)
    #expect(queue.demand(for: .retry, free: 20, capacity: 100) == 0)
  }

  @Test func `held pushes are not handed out, and count`() {
    var queue = queue()
    for slot in 0..<10 as Range<UInt32> { queue.append(slot, slot < 5 ? bulk : .first) }
    for _ in 0..<10 {
      guard let slot = queue.next(capacity: 100) else { break }
      queue.hold(slot, slot < 5 ? bulk : .first)
    }
    #expect(queue.next(capacity: 100) == nil)
    #expect(queue.inLine == 0 && queue.held == 10 && queue.count == 10 && queue.open == 0)
    #expect(queue.demand(for: .first, free: 100, capacity: 100) == 95)
    let gone = queue.removeAll(where: { $0 % 5 == 0 })
    #expect(gone == [5, 0] && queue.held == 8)
    queue.bringBack()
    #expect(queue.inLine == 8 && queue.held == 0)
    var slots: [UInt32] = []
    while let slot = queue.next(capacity: 100) { slots.append(slot) }
    #expect(slots.sorted() == [1, 2, 3, 4, 6, 7, 8, 9])
  }

  @Test func `every slot comes out once in the order of its class`() {
    var queue = queue(reserved: 0)
    var expected: [SendClass: [UInt32]] = [:]
    for slot in 0..<300 as Range<UInt32> {
      let sendClass = all[Int(slot) % 3]
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
      seen[all[Int(slot) % 3], default: []].append(slot)
    }
    #expect(seen == expected)
  }
}
