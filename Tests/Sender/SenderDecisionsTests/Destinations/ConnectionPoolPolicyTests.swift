// SPDX-License-Identifier: Apache-2.0

import Contract
import TestSupport
import Testing

@testable import SenderDecisions

@Suite struct ConnectionPoolPolicyTests {
  private func load(
    connecting: Int = 0, serving: Int = 0, unproven: Int = 0, credit: Int = 0, open: Int = 0,
    capacity: Int = 0, waiting: Bool = false
  ) -> ConnectionPoolPolicy.Load {
    var load = ConnectionPoolPolicy.Load(
      connecting: connecting, serving: serving, credit: credit, openStreams: open,
      capacity: capacity, isWaiting: waiting)
    load.unproven = unproven
    return load
  }

  @Test func `the policy opens nothing without work and the minimum with it`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    #expect(policy.decide(load(), now: 0) == .nothing)
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    #expect(policy.decide(load(connecting: 1, waiting: true), now: 0) == .nothing)
    #expect(policy.decide(load(serving: 1, unproven: 1, waiting: true), now: 1) == .open)
    #expect(policy.decide(load(serving: 2, unproven: 2, waiting: true), now: 2) == .nothing)
  }

  @Test func `after a failure one connection has to serve before the next`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    var health = DestinationHealth()
    health.connectFailed(now: 0, random: 0)
    let one = load(serving: 1, unproven: 1, waiting: true)
    #expect(policy.decide(one, health, now: 9_000) == .nothing)
    health.connectionAccepted(app: 1, at: PeerAddress(bytes: [10, 0, 0, 1], port: 443)!)
    #expect(policy.decide(one, health, now: 9_000) == .open)
  }

  @Test func `a first connect that takes long is not the only one`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4, starvation: 1_000))
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    let slow = load(connecting: 1, waiting: true)
    #expect(policy.decide(slow, now: 999) == .nothing)
    #expect(policy.decide(slow, now: 1_000) == .open)
    #expect(policy.decide(load(connecting: 2, waiting: true), now: 9_000) == .nothing)
    var failing = DestinationHealth()
    failing.connectFailed(now: 0, random: 0)
    #expect(policy.decide(slow, failing, now: 9_000) == .nothing, "the gateway may be down")
  }

  /// Streams are short for as long as the first connect takes: that is no reason for a second connection.
  @Test func `the time of a connect is not starvation`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 4, starvation: 1_000))
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    for now in stride(from: 0 as UInt64, to: 5_000, by: 20) {
      #expect(policy.decide(load(connecting: 1, waiting: true), now: now) == .nothing)
    }
    let primed = load(serving: 1, unproven: 1, open: 1, capacity: 1, waiting: true)
    #expect(policy.decide(primed, now: 5_000) == .nothing)
    #expect(policy.decide(primed, now: 5_999) == .nothing)
    #expect(policy.decide(primed, now: 6_000) == .open, "it was short for a second since")
  }

  @Test func `the policy keeps the minimum also when the work is over`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    _ = policy.decide(load(waiting: true), now: 0)
    #expect(policy.decide(load(serving: 1, credit: 100, capacity: 100), now: 1) == .open)
  }

  @Test func `only sustained starvation opens another connection`() {
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

  @Test func `an aged connection is replaced before it goes`() {
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
    aged.serving = 1
    policy.closedIdle()
    #expect(policy.decide(aged, now: 5) == .open, "also of a pool that has rested")
  }

  @Test func `records that must go elsewhere open one more connection at a time`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 3, starvation: 1_000))
    var moving = load(serving: 1, credit: 100, capacity: 100, waiting: true)
    #expect(policy.decide(moving, now: 0) == .nothing)
    moving.wantsOtherConnection = true
    #expect(policy.decide(moving, now: 1) == .open)
    moving.connecting = 1
    #expect(policy.decide(moving, now: 2) == .nothing)
    moving.connecting = 0
    #expect(policy.decide(moving, now: 500) == .nothing)
    #expect(policy.decide(moving, now: 1_001) == .open)
    moving.serving = 3
    #expect(policy.decide(moving, now: 9_000) == .nothing)
  }

  @Test func `the policy never opens more than the maximum`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 2, starvation: 10))
    let starved = load(serving: 2, open: 10, capacity: 10, waiting: true)
    for now in 0..<100 as Range<UInt64> { #expect(policy.decide(starved, now: now) == .nothing) }
  }

  @Test func `the policy closes slowly and one at a time`() {
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

  @Test func `a load that needs them keeps them`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 4, surplus: 100))
    let busy = load(serving: 2, credit: 120, open: 80, capacity: 200)
    for now in stride(from: 0 as UInt64, to: 5_000, by: 50) {
      #expect(policy.decide(busy, now: now) == .nothing)
    }
  }

  @Test func `without room it asks again and forgets nothing`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 1, maximum: 3, starvation: 1_000))
    var first = load(waiting: true)
    first.hasRoom = false
    #expect(policy.decide(first, now: 0) == .awaitRoom)
    #expect(policy.decide(load(waiting: true), now: 1) == .open)
    var starved = load(serving: 1, open: 100, capacity: 100, waiting: true)
    #expect(policy.decide(starved, now: 10) == .nothing)
    starved.hasRoom = false
    #expect(policy.decide(starved, now: 1_010) == .awaitRoom)
    starved.hasRoom = true
    #expect(policy.decide(starved, now: 1_011) == .open)
  }

  @Test func `a rested pool opens nothing until there is work`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    #expect(policy.decide(load(waiting: true), now: 0) == .open)
    #expect(policy.decide(load(serving: 1), now: 1) == .open)
    policy.closedIdle()
    #expect(policy.decide(load(), now: 2) == .nothing)
    #expect(policy.decide(load(waiting: true), now: 3) == .open)
  }

  @Test func `destination health bounds the pool`() {
    var policy = ConnectionPoolPolicy(limits: .init(minimum: 2, maximum: 4))
    var health = DestinationHealth()
    let waiting = load(waiting: true)
    health.connectFailed(now: 10, random: 0)
    #expect(policy.decide(waiting, health, now: 1_259) == .nothing)
    #expect(policy.decide(waiting, health, now: 1_260) == .open)
    let address = PeerAddress(bytes: [127, 0, 0, 1], port: 443)!
    let place = DestinationHealth.AnsweringConnection(
      at: address, hasAccepted: true, firstPushAt: 0, hasNewestToken: true)
    _ = health.goAway(.badCertificate, on: place, now: 2_000, random: 0)
    #expect(policy.decide(waiting, health, now: 31_999) == .nothing)
    #expect(policy.decide(waiting, health, now: 32_000) == .open)
    #expect(policy.decide(load(serving: 1, waiting: true), health, now: 32_000) == .nothing)
    health.served(app: 1, sentAt: 0)
    #expect(policy.decide(load(serving: 1, waiting: true), health, now: 32_001) == .open)
  }
}

extension ConnectionPoolPolicy {
  /// Decides for a destination, of which nothing bad is known unless a test says so.
  fileprivate mutating func decide(
    _ load: Load, _ health: DestinationHealth = DestinationHealth(), now: UInt64
  ) -> Action {
    decide(load, health.mayConnect(now: now), now: now)
  }
}
