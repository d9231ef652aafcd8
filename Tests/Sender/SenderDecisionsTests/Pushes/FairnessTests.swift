// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing
import Waiting

@Suite struct FairnessTests {
  /// A loop's fairness, told of time in steps of a millisecond as a busy loop is.
  private struct Told {
    var fairness = Fairness(slots: 4_000)
    var now: UInt64 = 5_000
    var known = 2

    init(holding counts: [Int: Int], known: Int = 2) {
      self.known = known
      turn()
      for (destination, count) in counts {
        for _ in 0..<count { fairness.took(destination) }
      }
    }

    mutating func turn() { fairness.turn(known: known, now: now) }

    /// Lets time go by; these answer each millisecond.
    mutating func pass(_ milliseconds: UInt64, answering: [Int] = []) {
      for _ in 0..<milliseconds {
        now += 1
        turn()
        for destination in answering { fairness.answered(destination) }
      }
    }

    func decide(_ destination: Int, free: Int = 1_000) -> Fairness.Decision {
      fairness.decide(destination, free: free)
    }
  }

  @Test func `a destination that is alone is never moved nor stopped`() {
    var told = Told(holding: [1: 4_000], known: 1)
    told.pass(60_000)
    #expect(told.decide(1, free: 0) == .take)
  }

  /// However long it is full, and however many there are.
  @Test(arguments: [2, 100])
  func `saturated is not stuck`(known: Int) {
    var told = Told(holding: [1: 2_000, 2: 10], known: known)
    told.pass(60_000, answering: [1])
    #expect(told.decide(1) == .wait)
    #expect(told.decide(2) == .take)
    #expect(told.fairness.reserve(of: 2_000) == 0, "2 is stuck")
    told.fairness.freed(1)
    #expect(told.decide(1) == .take)
  }

  @Test func `a destination that makes no progress is moved aside until its next answer`() {
    var told = Told(holding: [1: 2_000])
    told.pass(Fairness.patience - 30)
    #expect(told.decide(1) == .wait)
    told.pass(60)
    #expect(told.decide(1) == .divert)
    #expect(told.decide(2) == .take)
    told.fairness.answered(1)
    #expect(told.decide(1) == .wait)
    #expect(told.fairness.stuck == 0)
  }

  /// It counts from the last answer or the first push, not from when it was full.
  @Test func `a destination that is stuck below its bound is moved as soon as it reaches it`() {
    var told = Told(holding: [1: 100])
    told.pass(5_000)
    #expect(told.decide(1) == .take)
    for _ in 0..<1_900 { told.fairness.took(1) }
    #expect(told.decide(1) == .divert)
    for _ in 0..<2_000 { told.fairness.freed(1) }
    told.fairness.took(1)
    #expect(told.fairness.stuck == 0)
  }

  /// The gateway is out for all: moving records aside would gain nothing, and cost each of them a record more.
  @Test func `when everybody is stuck everything waits in Kafka`() {
    var told = Told(holding: [1: 2_000, 2: 50])
    told.pass(2_000, answering: [1, 2])
    told.pass(10_000)
    #expect(told.decide(1) == .wait)
    #expect(told.fairness.stuck == 2)
    // A third one comes, and might be well; then one of the two is.
    told.known = 3
    told.pass(1)
    #expect(told.decide(1) == .divert)
    told.known = 2
    told.pass(30, answering: [2])
    #expect(told.decide(1) == .divert)
  }

  /// Of two that fall silent within a moment of each other neither works.
  @Test func `a destination that falls silent last does not work`() {
    var told = Told(holding: [1: 2_000, 2: 2_000])
    told.pass(1_000, answering: [1, 2])
    told.pass(700, answering: [2])
    for _ in 0..<10_000 {
      told.pass(1)
      #expect(told.decide(1) == .wait)
      #expect(told.decide(2) == .wait)
    }
  }

  /// A process that was stopped has not waited for answers meanwhile.
  @Test func `time asleep is not silence`() {
    var told = Told(holding: [1: 2_000])
    told.now += 3_600_000
    told.turn()
    #expect(told.decide(1) == .wait)
  }

  /// Each time that it cannot be said who works, the stuck one takes a few records more.
  @Test func `what a stuck destination holds over two thirds is given up`() {
    var told = Told(holding: [1: 2_700, 2: 10])
    told.pass(2_100, answering: [2])
    #expect(told.fairness.isDiverting)
    #expect(told.fairness.crowded?.destination == 1)
    #expect(told.fairness.crowded?.surplus == 2_700 - 2_666)
    told.pass(100, answering: [1, 2])
    #expect(told.fairness.crowded == nil, "it answers")
  }

  @Test func `of few slots no destination may hold all`() {
    var told = Told(holding: [1: 20])
    told.fairness = Fairness(slots: 60)
    told.turn()
    for _ in 0..<40 { told.fairness.took(1) }
    #expect(told.decide(1, free: 20) == .wait)
    #expect(told.decide(2, free: 20) == .take)
  }

  /// Pushes without a credential are a destination like the others, and nobody is kept waiting by them while no
  /// credential is known at all.
  @Test func `pushes without a credential`() {
    var told = Told(holding: [Fairness.noCredential: 2_000], known: 0)
    told.pass(10_000)
    #expect(told.decide(Fairness.noCredential) == .wait, "the signer is not there yet")
    told.known = 1
    told.pass(1)
    #expect(told.decide(Fairness.noCredential) == .divert)
    #expect(told.decide(1) == .take)
    told.fairness.answered(Fairness.noCredential)
    #expect(told.decide(Fairness.noCredential) == .wait)
  }

  /// n greedy destinations that grow together leave 1/(2n + 1) of the slots, whoever asks first in a round.
  ///
  /// Exactly: at the end none holds less than the bound 2f of the f free slots, or it would have grown. Who took
  /// last held less than its bound, now two smaller, and no other has more than one slot more: so each holds 2f + 3
  /// at most, and slots = f + Σ held ≤ (2n + 1) f + 3n.
  @Test(arguments: [1, 2, 5, 20], 0..<10 as Range<UInt64>)
  func `greedy destinations leave room`(greedy: Int, seed: UInt64) {
    var crowd = Crowd(greedy, seed: seed)
    for _ in 0..<Crowd.slots { crowd.growByOne() }
    #expect(crowd.free * (2 * greedy + 1) >= Crowd.slots - 3 * greedy, "\(crowd.free) free")
    #expect(crowd.held.allSatisfy { $0 >= Fairness(slots: Crowd.slots).bound(free: crowd.free) })
  }

  /// One that came first holds two thirds, and its pushes end one by one: the slots that come free are everybody's,
  /// and in the end it holds no more than the others, up to the slots that come and go.
  @Test(arguments: [2, 5, 20], 0..<3 as Range<UInt64>)
  func `a destination that came first ends with the others`(greedy: Int, seed: UInt64) {
    var crowd = Crowd(greedy, seed: seed)
    while crowd.grow(0) {}
    #expect(crowd.free == Crowd.slots / 3)
    for _ in 0..<6 * Crowd.slots {
      crowd.endOne()
      crowd.growByOne()
    }
    #expect(crowd.free >= Crowd.slots / (2 * greedy + 1) - 2, "\(crowd.free) free")
    #expect(crowd.held.max()! - crowd.held.min()! <= 4, "\(crowd.held)")
  }

  /// Destinations that take every slot they may have.
  private struct Crowd {
    static let slots = 4_000
    var held: [Int]
    var free = Crowd.slots
    private let bounds = Fairness(slots: slots)
    private var random: SeededGenerator

    init(_ count: Int, seed: UInt64) {
      held = Array(repeating: 0, count: count)
      random = SeededGenerator(seed: seed)
    }

    /// Offers each of them a slot, in any order.
    mutating func growByOne() {
      for one in held.indices.shuffled(using: &random) { grow(one) }
    }

    /// - Returns: whether it took one.
    @discardableResult
    mutating func grow(_ one: Int) -> Bool {
      guard free > 0, held[one] < bounds.bound(free: free) else { return false }
      held[one] += 1
      free -= 1
      return true
    }

    /// One of the pushes ends, whosever it is.
    mutating func endOne() {
      var push = random.below(Crowd.slots - free)
      let owner = held.firstIndex { count in
        push -= count
        return push < 0
      }
      held[owner!] -= 1
      free += 1
    }
  }

  /// A full partition stops for everybody. However many stuck ones fill it, in whatever order and however late they are
  /// found out, something is left of it.
  @Test(arguments: [
    (1, 200, 0), (2, 200, 1_500), (4, 200, 0), (1, 2_000, 0), (5, 2_000, 1_500), (20, 2_000, 0),
  ])
  func `a destination that fills a partition leaves something of it`(
    stuck: Int, most: Int, apart: Int
  ) {
    for seed in 0..<20 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var told = Told(holding: [:], known: stuck + 1)
      var open = OpenByDestination()
      var left = most
      var paused: Int?
      var moved: Set<Int> = []
      // Each begins some time after the one before; all come as fast as they are let.
      for _ in 0..<20_000 where moved.count < stuck {
        told.pass(1)
        let begun = apart == 0 ? stuck : min(stuck, 1 + Int(told.now - 5_000) / apart)
        for _ in 0..<50 {
          if let one = paused, decide(told, one, open, left, most) == .pause { break }
          paused = nil
          guard left > told.fairness.reserve(of: most) else { break }
          let one = 1 + random.below(begun)
          let decision = decide(told, one, open, left, most)
          if decision == .divert {
            moved.insert(one)
            continue
          }
          if decision == .pause { paused = one }
          told.fairness.took(one)
          open.add(one)
          left -= 1
        }
      }
      #expect(moved.count == stuck, "seed \(seed)")
      #expect(left > 0 && left < most / 8, "seed \(seed): \(left) left")
      #expect(
        decide(told, stuck + 1, open, left, most) == .take, "one that has nothing open is let in")
    }
  }

  private func decide(
    _ told: Told, _ one: Int, _ open: OpenByDestination, _ left: Int, _ most: Int
  ) -> Fairness.Decision {
    told.fairness.decide(one, free: 20_000, open: open[one], left: left, of: most)
  }

  @Test func `pushes that are moved come back soon, then once a minute`() {
    #expect(Fairness.tier(age: 0) == .seconds5)
    #expect(Fairness.tier(age: 59_999) == .seconds5)
    #expect(Fairness.tier(age: 60_000) == .minute1)
  }
}
