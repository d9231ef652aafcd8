// SPDX-License-Identifier: Apache-2.0

import Delivery
import Pipeline
import TestSupport
import Testing

@Suite struct SlotShareTests {
  @Test func aDestinationThatIsAloneIsNeverMoved() {
    var share = SlotShare()
    for now in 0..<1_000 as Range<UInt64> {
      let decision = share.decide(held: 4_000, bound: 64, isAlone: true, canDivert: true, now: now)
      #expect(decision == .take)
    }
  }

  @Test func atItsBoundItStopsTheIntakeForItsPatienceOnly() {
    var share = SlotShare()
    func decide(_ now: UInt64, held: Int = 2_000) -> SlotShare.Decision {
      share.decide(
        held: held, bound: SlotShare.bound(free: 1_000), isAlone: false, canDivert: true, now: now)
    }
    #expect(decide(0, held: 1_999) == .take)
    #expect(decide(1_000) == .wait)
    #expect(decide(1_000 + SlotShare.patience - 1) == .wait)
    // Sending one and taking the next does not begin the time anew.
    #expect(decide(1_000 + SlotShare.patience - 1, held: 1_999) == .take)
    #expect(decide(1_000 + SlotShare.patience) == .divert)
    #expect(decide(2_000, held: 1_500) == .take)
    #expect(decide(2_001) == .divert)
    #expect(decide(3_000, held: 999) == .take)
    #expect(decide(3_001) == .wait)
  }

  @Test func whatCannotBeMovedWaits() {
    var share = SlotShare()
    for now in stride(from: 0 as UInt64, to: 10_000, by: 100) {
      let decision = share.decide(
        held: 2_000, bound: SlotShare.bound(free: 10), isAlone: false, canDivert: false, now: now)
      #expect(decision == .wait)
    }
  }

  /// n greedy destinations that grow together leave 1/(2n + 1) of the slots, whoever asks first in a round.
  ///
  /// Exactly: at the end none holds less than the bound 2f of the f free slots, or it would have grown. Who took
  /// last held less than its bound, now two smaller, and no other has more than one slot more: so each holds 2f + 3
  /// at most, and slots = f + Σ held ≤ (2n + 1) f + 3n.
  @Test(arguments: [1, 2, 5, 20], 0..<10 as Range<UInt64>)
  func greedyDestinationsLeaveRoom(greedy: Int, seed: UInt64) {
    var crowd = Crowd(greedy, seed: seed)
    for _ in 0..<Crowd.slots { crowd.growByOne() }
    #expect(crowd.free * (2 * greedy + 1) >= Crowd.slots - 3 * greedy, "\(crowd.free) free")
    #expect(crowd.held.allSatisfy { $0 >= SlotShare.bound(free: crowd.free) })
  }

  /// One that came first holds two thirds, and its pushes end one by one: the slots that come free are everybody's,
  /// and in the end it holds no more than the others, up to the slots that come and go.
  @Test(arguments: [2, 5, 20], 0..<3 as Range<UInt64>)
  func whoCameFirstEndsWithTheOthers(greedy: Int, seed: UInt64) {
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
      guard free > 0, held[one] < SlotShare.bound(free: free) else { return false }
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

  /// A full partition stops for everybody. However many fill it, in whatever order, all are noticed before, and one
  /// that holds little is not accused.
  @Test(arguments: [(1, 200), (5, 200), (1, 2_000), (5, 2_000), (20, 2_000)])
  func whoCrowdsAPartitionIsNoticedBeforeItIsFull(stuck: Int, most: Int) {
    for seed in 0..<20 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var held = Array(repeating: 0, count: stuck)
      var left = most
      var crowding: Set<Int> = []
      while crowding.count < stuck, left > 0 {
        let one = random.below(stuck)
        guard !crowding.contains(one) else { continue }
        held[one] += 1
        left -= 1
        if SlotShare.crowds(held: held[one], left: left, of: most) { crowding.insert(one) }
      }
      #expect(left > 0 && left < most / 8, "seed \(seed): \(left) left")
      #expect(!SlotShare.crowds(held: left, left: left, of: most), "seed \(seed)")
    }
    #expect(!SlotShare.crowds(held: most * 7 / 8, left: most / 8, of: most))
  }

  @Test func whatIsMovedComesBackSoonThenOnceAMinute() {
    #expect(SlotShare.tier(age: 0) == .seconds5)
    #expect(SlotShare.tier(age: 59_999) == .seconds5)
    #expect(SlotShare.tier(age: 60_000) == .minute1)
  }
}

@Suite struct DeviceHoldsTests {
  @Test func onlyTheDeviceIsHeldAndOnlyForItsTime() {
    var holds = DeviceHolds()
    #expect(!holds.mayHold(now: 0))
    holds.hold(7, until: 6_000)
    #expect(holds.mayHold(now: 1_000))
    #expect(holds.remaining(7, now: 1_000) == 5_000)
    #expect(holds.remaining(8, now: 1_000) == 0)
    #expect(holds.remaining(7, now: 6_000) == 0)
    #expect(!holds.mayHold(now: 6_000))
    holds.hold(7, until: 5_000)
    #expect(holds.remaining(7, now: 1_000) == 5_000, "a time is never shortened")
  }

  /// The table has a fixed size. It may forget a device, and never invents one.
  @Test(arguments: 0..<10 as Range<UInt64>)
  func boundedAndNeverWrong(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var holds = DeviceHolds(capacity: 64)
    var truth: [UInt64: UInt64] = [:]
    var found = 0
    for now in 0..<20_000 as Range<UInt64> {
      let hash = random.next() % 200
      if random.oneIn(4) {
        let until = now + UInt64(random.below(100))
        holds.hold(hash, until: until)
        truth[hash] = max(truth[hash] ?? 0, until)
      }
      let remaining = holds.remaining(hash, now: now)
      let longest = (truth[hash] ?? 0) > now ? truth[hash]! - now : 0
      #expect(remaining <= longest, "seed \(seed)")
      if remaining > 0 { found += 1 }
    }
    #expect(found > 1_000, "seed \(seed): it holds nothing")
  }
}

@Suite struct DeviceOrderTests {
  @Test func oneGoesAndTheRestFollowInTheirOrder() {
    var order = DeviceOrder(slots: 16, waitingAtMost: 2)
    #expect(order.enter(1, device: 9) == .goes)
    #expect(order.enter(2, device: 9) == .waits)
    #expect(order.enter(3, device: 9) == .waits)
    #expect(order.enter(4, device: 9) == .refused)
    #expect(order.enter(5, device: 10) == .goes, "another device is not slowed")
    #expect(order.leave(1) == 2)
    #expect(order.leave(2) == 3)
    #expect(order.leave(3) == nil)
    #expect(order.leave(5) == nil)
    #expect(order.devices == 0 && order.waiting == 0)
  }

  /// Random pushes of few devices: never two of a device under way, each device's order kept, all leave.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func orderIsKept(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var order = DeviceOrder(slots: 64, waitingAtMost: 10)
    var free = Array(0..<64 as Range<UInt32>)
    var lines: [UInt64: [UInt32]] = [:]
    for _ in 0..<50_000 {
      if random.oneIn(2), let slot = free.popLast() {
        let device = UInt64(random.below(40))
        let line = lines[device] ?? []
        switch order.enter(slot, device: device) {
        case .goes: #expect(line.isEmpty, "seed \(seed)")
        case .waits: #expect(!line.isEmpty && line.count <= 10, "seed \(seed)")
        case .refused:
          #expect(line.count == 11, "seed \(seed)")
          free.append(slot)
          continue
        }
        lines[device, default: []].append(slot)
      } else if let device = lines.keys.sorted().randomElement(using: &random) {
        let slot = lines[device]!.removeFirst()
        #expect(order.leave(slot) == lines[device]!.first, "seed \(seed)")
        if lines[device]!.isEmpty { lines[device] = nil }
        free.append(slot)
      }
      #expect(order.devices == lines.count, "seed \(seed)")
      #expect(order.waiting == lines.values.reduce(0) { $0 + $1.count - 1 }, "seed \(seed)")
    }
  }
}

@Suite struct RetryPacingTests {
  /// A thousand pushes fail in one moment: they come back spread out, in order, never early.
  @Test(arguments: RetryTier.allCases)
  func whatFailedTogetherDoesNotComeBackTogether(tier: RetryTier) {
    var random = SeededGenerator(seed: 1)
    var pacing = RetryPacing(tier)
    let due: Int64 = 1_000_000
    var now = due
    var releases: [Int64] = []
    for waiting in (0..<1_000).reversed() {
      let at = Int64(
        pacing.release(
          written: 5_000_000 - tier.delay, waiting: waiting, wall: now + 4_000_000,
          now: UInt64(now), random: random.next()))
      #expect(at >= due)
      #expect(at >= releases.last ?? due)
      now = max(now, at)
      releases.append(at)
    }
    // Not more than a twentieth of them in any twentieth-and-a-bit of the time.
    let window = pacing.spread / 20
    var most = 0
    for (index, start) in releases.enumerated() {
      most = max(most, releases[index...].prefix { $0 < start + window }.count)
    }
    #expect(most < 150, "\(most) of 1,000 within \(window) ms")
    #expect(releases.last! - due > pacing.spread / 2)
  }

  @Test func aSingleRetryIsHardlyDelayed() {
    for seed in 0..<100 as Range<UInt64> {
      var random = SeededGenerator(seed: seed)
      var pacing = RetryPacing(.seconds5)
      let at = pacing.release(
        written: 0, waiting: 0, wall: 4_000, now: 4_000, random: random.next())
      #expect(at >= 5_000 && at <= 5_250)
    }
  }

  @Test func whatIsLongOverdueIsPacedFromNowOn() {
    var random = SeededGenerator(seed: 2)
    var pacing = RetryPacing(.seconds5)
    var at: UInt64 = 0
    for waiting in (0..<100).reversed() {
      at = pacing.release(
        written: 0, waiting: waiting, wall: 900_000, now: 900_000, random: random.next())
    }
    #expect(at >= 900_000 && at < 908_000)
  }

  /// Anyone may have written a record of a retry topic, with any timestamp.
  @Test(arguments: RetryTier.allCases, [.min, -1, 0, 4_102_444_800_000, .max - 1, .max] as [Int64])
  func noTimestampHoldsALineLongerThanItsTier(tier: RetryTier, written: Int64) {
    var random = SeededGenerator(seed: 3)
    var pacing = RetryPacing(tier)
    let now: UInt64 = 50_000
    let wall: Int64 = 1_790_000_000_000
    let latest = now + UInt64(tier.delay + 2 * pacing.spread)
    for stamp in [written, wall, written, .min, .max, written] {
      let at = pacing.release(
        written: stamp, waiting: 0, wall: wall, now: now, random: random.next())
      #expect(at <= latest, "\(stamp)")
    }
  }

  /// A clock that is set back makes what is on the topic a thing of the future: the line moves on at its pace.
  @Test(arguments: [-3_600_000, -1_000, 0] as [Int64])
  func aStepOfTheClockDoesNotStopTheLine(step: Int64) {
    var random = SeededGenerator(seed: 4)
    var pacing = RetryPacing(.minutes15)
    let begun: Int64 = 1_790_000_000_000
    var now: UInt64 = 1_000_000
    // A hundred records, one written each 10 ms; the clock steps when the tenth is read. Their gaps are the spread
    // divided by what waits, which adds up to some three of it.
    for number in 0..<100 as Range<Int64> {
      let wall = begun + Int64(now) - 1_000_000 + (number >= 10 ? step : 0)
      let at = pacing.release(
        written: begun + 10 * number, waiting: Int(99 - number), wall: wall, now: now,
        random: random.next())
      now = max(now, at)
    }
    let tookMilliseconds = Int64(now) - 1_000_000
    #expect(tookMilliseconds >= 900_000)
    #expect(tookMilliseconds < 900_000 + 1_000 + 5 * pacing.spread)
  }
}
