// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import Delivery

@Suite struct ConnectionPoolPolicyTests {
  private func load(
    connecting: Int = 0, serving: Int = 0, credit: Int = 0, open: Int = 0, capacity: Int = 0,
    waiting: Bool = false
  ) -> ConnectionPoolPolicy.Load {
    .init(
      connecting: connecting, serving: serving, credit: credit, openStreams: open,
      capacity: capacity, isWaiting: waiting)
  }

  @Test func opensNothingWithoutWorkAndTheMinimumWithIt() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    #expect(policy.decide(load(), now: 0) == .nothing)
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    #expect(policy.decide(load(connecting: 1, waiting: true), now: 0) == .open)
    #expect(policy.decide(load(connecting: 2, waiting: true), now: 0) == .nothing)
  }

  @Test func keepsTheMinimumAlsoWhenTheWorkIsOver() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    _ = policy.decide(load(waiting: true), now: 0)
    #expect(policy.decide(load(serving: 1, credit: 100, capacity: 100), now: 1) == .open)
  }

  @Test func onlySustainedStarvationOpensAnotherOne() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 3, starvation: 1_000))
    let starved = load(serving: 1, open: 100, capacity: 100, waiting: true)
    #expect(policy.decide(starved, now: 0) == .nothing)
    #expect(policy.decide(starved, now: 999) == .nothing)
    let fed = load(serving: 1, credit: 1, open: 99, capacity: 100, waiting: true)
    #expect(policy.decide(fed, now: 999) == .nothing)
    #expect(policy.decide(starved, now: 1_000) == .nothing)
    #expect(policy.decide(starved, now: 2_000) == .open)
    let opening = load(connecting: 1, serving: 1, open: 100, capacity: 100, waiting: true)
    #expect(policy.decide(opening, now: 9_000) == .nothing, "one at a time")
  }

  @Test func anAgedConnectionIsReplacedBeforeItGoes() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 1))
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    var aged = load(serving: 1, credit: 100, capacity: 100)
    #expect(policy.decide(aged, now: 1) == .nothing)
    aged.aged = 1
    #expect(policy.decide(aged, now: 2) == .open, "also at the maximum")
    aged.connecting = 1
    #expect(policy.decide(aged, now: 3) == .nothing)
    aged.connecting = 0
    aged.serving = 2
    #expect(policy.decide(aged, now: 4) == .nothing)
  }

  @Test func recordsThatMustGoElsewhereOpenOneMoreConnectionAtATime() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 3, starvation: 1_000))
    var moving = load(serving: 1, credit: 100, capacity: 100, waiting: true)
    #expect(policy.decide(moving, now: 0) == .nothing)
    moving.wantsElsewhere = true
    #expect(policy.decide(moving, now: 1) == .open)
    moving.connecting = 1
    #expect(policy.decide(moving, now: 2) == .nothing)
    moving.connecting = 0
    #expect(policy.decide(moving, now: 500) == .nothing)
    #expect(policy.decide(moving, now: 1_001) == .open)
    moving.serving = 3
    #expect(policy.decide(moving, now: 9_000) == .nothing)
  }

  @Test func neverMoreThanTheMaximum() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 2, starvation: 10))
    let starved = load(serving: 2, open: 10, capacity: 10, waiting: true)
    for now in 0..<100 as Range<UInt64> { #expect(policy.decide(starved, now: now) == .nothing) }
  }

  @Test func closesSlowlyAndOneAtATime() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 4, surplus: 1_000))
    let idle = load(serving: 3, credit: 300, open: 0, capacity: 300)
    #expect(policy.decide(idle, now: 0) == .nothing)
    #expect(policy.decide(idle, now: 999) == .nothing)
    #expect(policy.decide(idle, now: 1_000) == .closeOne)
    let fewer = load(serving: 2, credit: 200, open: 0, capacity: 200)
    #expect(policy.decide(fewer, now: 1_001) == .nothing)
    #expect(policy.decide(fewer, now: 2_000) == .closeOne)
    let last = load(serving: 1, credit: 100, open: 0, capacity: 100)
    #expect(policy.decide(last, now: 9_000) == .nothing)
    #expect(policy.decide(last, now: 99_000) == .nothing, "the minimum stays")
  }

  @Test func aLoadThatNeedsThemKeepsThem() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 4, surplus: 100))
    let busy = load(serving: 2, credit: 120, open: 80, capacity: 200)
    for now in stride(from: 0 as UInt64, to: 5_000, by: 50) {
      #expect(policy.decide(busy, now: now) == .nothing)
    }
  }

  @Test func failedConnectsBackOffAndGoOneAtATime() {
    var policy = ConnectionPoolPolicy(
      limits: .init(minimum: 2, maximum: 4, backoffBase: 100, backoffCap: 400))
    let waiting = load(waiting: true)
    #expect(policy.decide(waiting, now: 0) == .open)
    policy.connectFailed(now: 10, random: 50)
    #expect(policy.wakeAt == 110)
    #expect(policy.decide(waiting, now: 109) == .nothing)
    #expect(policy.decide(waiting, now: 110) == .open)
    #expect(policy.decide(load(connecting: 1, waiting: true), now: 110) == .nothing)
    policy.connectFailed(now: 120, random: 100)
    #expect(policy.decide(waiting, now: 319) == .nothing)
    #expect(policy.decide(waiting, now: 320) == .open)
    policy.accepted()
    #expect(policy.decide(load(serving: 1, waiting: true), now: 321) == .open)
  }

  @Test func aRefusedCredentialStopsConnectsAndThenOneMayTry() {
    var policy = ConnectionPoolPolicy(
      limits: .init(minimum: 2, maximum: 4),
      breaker: CredentialBreaker(shortest: 1_000, longest: 8_000))
    let waiting = load(waiting: true)
    #expect(policy.decide(waiting, now: 0) == .open)
    policy.credentialRefused(now: 10, random: 500)
    #expect(policy.decide(waiting, now: 1_009) == .nothing)
    #expect(policy.wakeAt == 1_010)
    #expect(policy.decide(waiting, now: 1_010) == .open)
    #expect(policy.decide(load(connecting: 1, waiting: true), now: 1_010) == .nothing)
    policy.accepted()
    #expect(policy.decide(load(serving: 1, waiting: true), now: 1_011) == .open)
  }

  /// A pool against a gateway that fails, refuses and recovers: bounded connects, bounded size, and service
  /// again after the last fault.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func neverStormsAndAlwaysComesBack(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 6))
    var pool = PoolModel()
    for now in stride(from: 0 as UInt64, to: 4_000_000, by: 250) {
      let isHealing = now > 2_000_000
      pool.settle(&policy, now: now, random: &random, isHealthy: isHealing || random.oneIn(4))
      let demand = isHealing ? 150 : random.below(1_200)
      while case .open = policy.decide(pool.load(demand: demand), now: now) {
        pool.connecting += 1
        pool.connects += 1
        if pool.connecting + pool.serving > 6 { break }
      }
      #expect(pool.connecting + pool.serving <= 6, "seed \(seed)")
      if policy.decide(pool.load(demand: demand), now: now) == .closeOne { pool.serving -= 1 }
    }
    #expect(pool.serving >= 2, "seed \(seed): did not come back")
    #expect(pool.connects < 4_000_000 / 1_000, "seed \(seed): \(pool.connects) connects")
  }
}

private struct PoolModel {
  var connecting = 0
  var serving = 0
  var connects = 0

  mutating func settle(
    _ policy: inout ConnectionPoolPolicy, now: UInt64, random: inout SeededGenerator,
    isHealthy: Bool
  ) {
    while connecting > 0 {
      connecting -= 1
      if isHealthy {
        serving += 1
        policy.accepted()
      } else if random.oneIn(3) {
        policy.credentialRefused(now: now, random: random.next())
      } else {
        policy.connectFailed(now: now, random: random.next())
      }
    }
    if isHealthy && serving > 0 { policy.accepted() }
    if !isHealthy, serving > 0, random.oneIn(10) { serving -= 1 }
  }

  func load(demand: Int) -> ConnectionPoolPolicy.Load {
    let capacity = serving * 100
    let open = min(capacity, demand)
    return .init(
      connecting: connecting, serving: serving, credit: capacity - open, openStreams: open,
      capacity: capacity, isWaiting: demand > open)
  }
}
