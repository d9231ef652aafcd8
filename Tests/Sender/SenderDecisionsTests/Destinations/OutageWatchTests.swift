// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing
import Waiting

@Suite struct OutageWatchTests {
  private let capacity = 1_000

  /// Fails `count` times, a millisecond apart.
  private func fail(_ watch: inout OutageWatch, _ count: Int, from start: UInt64) -> UInt64 {
    for step in 0..<UInt64(count) { watch.failed(now: start + step, random: 0) }
    return start + UInt64(count)
  }

  @Test func `a healthy destination is not limited`() {
    var watch = OutageWatch()
    for _ in 0..<1_000 { watch.succeeded(sentAt: 0) }
    #expect(watch.isUndisturbed)
    #expect(watch.allowance(capacity: capacity, now: 0) == .max)
    #expect(!watch.isHolding)
  }

  @Test func `failures among successes do not open it`() {
    var watch = OutageWatch()
    var now: UInt64 = 1_000
    for _ in 0..<1_000 {
      now = fail(&watch, OutageWatch.row - 1, from: now)
      watch.succeeded(sentAt: 0)
    }
    #expect(watch.state == .closed)
    #expect(watch.allowance(capacity: capacity, now: now) == .max)
    #expect(watch.outages == 0)
  }

  /// Answers to what was sent before an outage began still come while it lasts: they prove nothing.
  @Test func `only an answer to what was sent later shows that it works`() {
    var watch = OutageWatch()
    #expect(!watch.works(since: 0))
    watch.succeeded(sentAt: 1_000)
    #expect(watch.works(since: 999))
    #expect(!watch.works(since: 1_000))
    watch.succeeded(sentAt: 400)
    #expect(watch.works(since: 999), "the newest counts")
  }

  @Test func `a push is kept while nothing shows that it fails by itself`() {
    var watch = OutageWatch()
    var life = PushLife()
    life.begin(.first, earlier: 0)
    func failOnce() {
      life.wait()
      life.send()
      life.close()
    }
    failOnce()
    watch.failed(now: 1_000, random: 0)
    #expect(!watch.keeps(life, failingSince: 5_000), "one failure is no outage")
    _ = fail(&watch, 40, from: 1_001)
    for _ in 0..<100 {
      #expect(watch.keeps(life, failingSince: 5_000))
      life.spare()
      failOnce()
    }
    watch.succeeded(sentAt: 5_000)
    #expect(watch.keeps(life, failingSince: 5_000), "that was sent when this one failed")
    watch.succeeded(sentAt: 5_001)
    #expect(watch.isHolding)
    #expect(!watch.keeps(life, failingSince: 5_000))
    #expect(watch.keeps(life, failingSince: 5_001), "one that failed later")
  }

  @Test func `a push that was kept a few times is kept through the recovery`() {
    var watch = OutageWatch()
    var life = PushLife()
    life.begin(SendClass(.bulk), earlier: 2)
    _ = fail(&watch, 40, from: 1_000)
    watch.succeeded(sentAt: 9_000)
    for _ in 0..<OutageWatch.mostSpared {
      life.wait()
      life.send()
      life.close()
      #expect(watch.keeps(life, failingSince: 5_000))
      life.spare()
    }
    #expect(!watch.keeps(life, failingSince: 5_000))
  }

  @Test func `a row of failures opens it`() {
    var watch = OutageWatch()
    let now = fail(&watch, 40, from: 1_000)
    guard case .open(let until) = watch.state else { return #expect(Bool(false)) }
    #expect(until > now)
    #expect(watch.allowance(capacity: capacity, now: now) == 0)
    #expect(watch.isHolding)
    #expect(watch.outages == 1)
  }

  /// A thousand streams of one broken connection fail in one moment: its sisters get 20 ms to say
  /// that they are well, and nothing is sent or lost meanwhile.
  @Test func `a burst of one moment waits for a success elsewhere`() {
    var watch = OutageWatch()
    for _ in 0..<1_000 { watch.failed(now: 1_000, random: 0) }
    #expect(watch.state == .closed)
    #expect(watch.isHolding)
    #expect(watch.allowance(capacity: capacity, now: 1_010) == 0)
    watch.succeeded(sentAt: 0)
    #expect(watch.allowance(capacity: capacity, now: 1_011) == .max)
    for _ in 0..<1_000 { watch.failed(now: 2_000, random: 0) }
    #expect(watch.allowance(capacity: capacity, now: 2_020) == 0)
    #expect(watch.outages == 1)
  }

  @Test func `a destination with little to send opens after five seconds of failures`() {
    var watch = OutageWatch()
    for second in 0..<7 as Range<UInt64> { watch.failed(now: 1_000 + second * 1_000, random: 0) }
    #expect(watch.state == .closed)
    watch.failed(now: 8_000, random: 0)
    #expect(watch.outages == 1)
  }

  @Test func `after a pause a few find out and a failure doubles the pause`() {
    var watch = OutageWatch()
    var now = fail(&watch, 40, from: 1_000)
    var pauses: [UInt64] = []
    for _ in 0..<8 {
      guard case .open(let until) = watch.state else { return #expect(Bool(false)) }
      #expect(watch.allowance(capacity: capacity, now: until - 1) == 0)
      #expect(watch.allowance(capacity: capacity, now: until) == OutageWatch.probes)
      pauses.append(until - now)
      now = until + 50
      watch.failed(now: now, random: 0)
    }
    for (earlier, later) in zip(pauses, pauses.dropFirst()) { #expect(later >= earlier) }
    #expect(pauses.last! >= 10_000 && pauses.last! <= 30_000)
    #expect(watch.outages == 1)
  }

  @Test func `recovery ramps up by doubling`() {
    var watch = OutageWatch()
    _ = fail(&watch, 40, from: 1_000)
    guard case .open(let until) = watch.state else { return #expect(Bool(false)) }
    var allowed = watch.allowance(capacity: capacity, now: until)
    var rounds: [Int] = [allowed]
    while allowed < capacity {
      // One round trip: everything that may be open is answered.
      for _ in 0..<allowed { watch.succeeded(sentAt: 0) }
      allowed = watch.allowance(capacity: capacity, now: until)
      rounds.append(min(allowed, capacity))
    }
    for (before, after) in zip(rounds, rounds.dropFirst()) {
      #expect(after <= before * 2 + 1, "no faster than doubling")
    }
    #expect((7...10).contains(rounds.count))
    #expect(watch.state == .closed)
    #expect(watch.isUndisturbed)
  }

  @Test func `a few failures in a row while ramping open it again`() {
    var watch = OutageWatch()
    _ = fail(&watch, 40, from: 1_000)
    guard case .open(let until) = watch.state else { return #expect(Bool(false)) }
    _ = watch.allowance(capacity: capacity, now: until)
    for _ in 0..<20 { watch.succeeded(sentAt: 0) }
    #expect(watch.allowance(capacity: capacity, now: until) == 24)
    _ = fail(&watch, OutageWatch.probes - 1, from: until)
    watch.succeeded(sentAt: 0)
    #expect(watch.allowance(capacity: capacity, now: until) == 25)
    _ = fail(&watch, OutageWatch.probes, from: until)
    #expect(watch.allowance(capacity: capacity, now: until) == 0)
  }

  /// The first connection after an outage shows a capacity of one stream: ramping goes on.
  @Test func `a priming connection does not end the ramp`() {
    var watch = OutageWatch()
    _ = fail(&watch, 40, from: 1_000)
    guard case .open(let until) = watch.state else { return #expect(Bool(false)) }
    _ = watch.allowance(capacity: 1, now: until)
    watch.succeeded(sentAt: 0)
    #expect(watch.allowance(capacity: 1, now: until) == OutageWatch.probes + 1)
    #expect(watch.isHolding)
  }

  @Test func `a gateway that cannot be reached is tried as soon as a connection is made`() {
    var watch = OutageWatch()
    for attempt in 0..<10 as Range<UInt64> {
      watch.unreachable(now: 1_000 + attempt * 500, random: 0)
    }
    #expect(watch.allowance(capacity: capacity, now: 5_600) <= OutageWatch.probes)
    #expect(watch.outages == 1)
    watch.unreachable(now: 6_000, random: 0)
    watch.reachable()
    #expect(watch.state == .probing)
    #expect(watch.allowance(capacity: 1, now: 6_001) == OutageWatch.probes)
  }

  @Test func `a pause that the gateway asked for is kept`() {
    var watch = OutageWatch()
    let now = fail(&watch, 40, from: 1_000)
    watch.pause(for: 60_000, now: now)
    #expect(watch.allowance(capacity: capacity, now: now + 59_999) == 0)
    #expect(watch.allowance(capacity: capacity, now: now + 60_000) == OutageWatch.probes)
  }

  @Test func `no pause is for ever`() {
    var watch = OutageWatch()
    let now = fail(&watch, 40, from: 1_000)
    watch.pause(for: UInt64(UInt32.max) * 1_000, now: now)
    #expect(watch.allowance(capacity: capacity, now: now + OutageWatch.longestPause - 1) == 0)
    #expect(
      watch.allowance(capacity: capacity, now: now + OutageWatch.longestPause)
        == OutageWatch.probes)
  }

  /// Random answers: while it is not closed nothing counts against a push, it always recovers when the
  /// gateway does, and never lets more out than it says.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `an outage of any length ends`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var watch = OutageWatch()
    var now: UInt64 = 10_000
    for _ in 0..<5_000 {
      now += UInt64(random.below(50))
      switch random.below(10) {
      case 0: watch.succeeded(sentAt: 0)
      case 1: watch.unreachable(now: now, random: random.next())
      case 2: watch.reachable()
      default: watch.failed(weight: 1 + random.below(4), now: now, random: random.next())
      }
      #expect(watch.isHolding || watch.state == .closed, "seed \(seed)")
      _ = watch.allowance(capacity: 1_000, now: now)
    }
    var rounds = 0
    while watch.state != .closed || !watch.isUndisturbed {
      rounds += 1
      now += 1_000
      let allowed = min(watch.allowance(capacity: 1_000, now: now), 1_000)
      for _ in 0..<allowed { watch.succeeded(sentAt: 0) }
      if rounds > 50 { break }
    }
    #expect(rounds <= 50, "seed \(seed): it does not recover")
  }
}

@Suite struct RetryBudgetTests {
  /// However many pushes fail: prompt retries stay within the share, the start and a second's one.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `retries are a share of sends`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let percent = random.below(60)
    var budget = RetryBudget(percent: percent)
    var now: UInt64 = 1_000
    let start = now
    var sends = 0
    var retries = 0
    for _ in 0..<50_000 {
      now += random.oneIn(100) ? UInt64(random.below(100)) : 0
      if random.oneIn(2) {
        sends += 1
        budget.sent()
      }
      if !random.oneIn(3), budget.spend(now: now) { retries += 1 }
      let bound =
        percent == 0
        ? 0 : RetryBudget.initial + sends * percent / 100 + Int(now - start) / 1_000 + 1
      #expect(retries <= bound, "seed \(seed)")
    }
  }

  @Test func `nothing is saved up without end`() {
    var budget = RetryBudget(percent: 100)
    for _ in 0..<1_000_000 { budget.sent() }
    var retries = 0
    while budget.spend(now: 5) { retries += 1 }
    #expect(retries <= RetryBudget.most + 1)
  }

  @Test func `a destination that sends little gets one per second`() {
    var budget = RetryBudget(percent: 20)
    while budget.spend(now: 1_000) {}
    #expect(budget.spend(now: 1_900) == false)
    #expect(budget.spend(now: 2_001) == true)
    #expect(budget.spend(now: 2_002) == false)
  }
}
