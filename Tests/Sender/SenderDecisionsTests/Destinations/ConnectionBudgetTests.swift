// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import SenderDecisions

/// The connections that the pools of a loop have together.
@Suite struct ConnectionBudgetTests {
  private typealias Holder = ConnectionBudget.Holder

  private func holder(
    _ pool: Int32, connections: Int = 1, since: UInt64 = 0, idleSince: UInt64? = nil
  ) -> Holder {
    Holder(pool: pool, connections: connections, since: since, idleSince: idleSince)
  }

  @Test
  func `with few connections an idle pool keeps its own; with more, the longest idle ones close`() {
    let budget = ConnectionBudget(limits: .init(plenty: 3))
    let holders = [
      holder(1, idleSince: 300_000), holder(2, idleSince: 100_000), holder(3),
      holder(4, idleSince: 200_000), holder(5, idleSince: 200_001),
    ]
    #expect(budget.closesIdle(holders, taken: 3, now: 9_000_000) == [])
    #expect(budget.closesIdle(holders, taken: 5, now: 699_999) == [])
    #expect(budget.closesIdle(holders, taken: 5, now: 700_000) == [2])
    #expect(budget.closesIdle(holders, taken: 5, now: 800_000) == [2, 4])
    #expect(budget.closesIdle(holders, taken: 9, now: 9_000_000) == [2, 4, 5, 1])
  }

  @Test func `idle pools close a few at a time`() {
    let budget = ConnectionBudget()
    let holders = (0..<1_000).map { holder($0, idleSince: 0) }
    let closed = budget.closesIdle(holders, taken: 1_000, now: 600_000)
    #expect(closed.count == ConnectionBudget.closedAtOnce)
  }

  @Test
  func
    `at the maximum: the longest idle gives way, then what is surplus, then who has had its turn`()
  {
    var budget = ConnectionBudget(limits: .init(most: 7))
    for pool in 100..<105 as Range<Int32> { budget.wait(pool) }
    budget.wait(100)
    #expect(budget.room(taken: 6) == 0, "others are before it")
    let holders = [
      holder(1, since: 3_000), holder(2, connections: 2), holder(3, since: 1_000),
      holder(4, since: 0, idleSince: 9_000), holder(5, since: 0, idleSince: 8_000),
      holder(6, since: 9_000),
    ]
    #expect(budget.yields(holders, taken: 7, leaving: 0, now: 9_500) == [.all(5), .one(2)])
    #expect(
      budget.yields(holders, taken: 7, leaving: 0, now: 13_000)
        == [.all(5), .all(4), .one(2), .all(3), .all(1)])
    #expect(budget.yields(holders, taken: 7, leaving: 3, now: 13_000) == [.all(5), .all(4)])
    #expect(budget.yields(holders, taken: 3, leaving: 0, now: 13_000) == [.all(5)])
    let refused = budget.next(taken: 7)
    #expect(refused == nil)
    var line: [Int32?] = []
    for _ in 0..<5 { line.append(budget.next(taken: 6)) }
    #expect(line == [100, 101, 102, 103, 104])
    #expect(budget.room(taken: 6) == 1 && budget.room(taken: 7) == 0)
  }

  @Test(arguments: [(pools: 10, most: 3), (10, 1), (40, 16), (8, 8)])
  func
    `more busy pools than connections: each has its turns, none waits for ever, none comes and goes`(
      pools: Int, most: Int
    )
  {
    var model = BusyPools(pools: pools, most: most)
    for _ in 0..<4_000 { model.step(50) }
    let rounds = (pools + most - 1) / most
    let turn = model.budget.limits.turn
    #expect(model.mostTaken <= most)
    #expect(model.longestWait <= UInt64(rounds) * (turn + 1_000), "\(model.longestWait) ms")
    #expect(model.shortestLife >= turn, "\(model.shortestLife) ms")
    let least = model.served.min() ?? 0
    let equal = 200_000 * most / pools
    #expect(Int(least) >= equal * 7 / 10, "\(model.served)")
  }
}

/// Pools that always have something to send, each content with one connection.
private struct BusyPools {
  var budget: ConnectionBudget
  var now: UInt64 = 1
  /// Since when a pool has a connection, or waits for one.
  var holding: [UInt64?]
  var waiting: [UInt64]
  var served: [UInt64]
  var longestWait: UInt64 = 0
  var shortestLife: UInt64 = .max
  var mostTaken = 0

  init(pools: Int, most: Int) {
    budget = ConnectionBudget(limits: .init(most: most))
    holding = Array(repeating: nil, count: pools)
    waiting = Array(repeating: 1, count: pools)
    served = Array(repeating: 0, count: pools)
  }

  var taken: Int { holding.count { $0 != nil } }

  mutating func step(_ milliseconds: UInt64) {
    now += milliseconds
    for pool in holding.indices {
      if holding[pool] != nil {
        served[pool] += milliseconds
      } else if budget.room(taken: taken) > 0 {
        open(pool)
      } else {
        budget.wait(Int32(pool))
      }
    }
    while let pool = budget.next(taken: taken) { open(Int(pool)) }
    let holders = holding.enumerated().compactMap { pool, since in
      since.map {
        ConnectionBudget.Holder(pool: Int32(pool), connections: 1, since: $0, idleSince: nil)
      }
    }
    for yield in budget.yields(holders, taken: taken, leaving: 0, now: now) {
      let pool = Int(yield.pool)
      shortestLife = min(shortestLife, now - holding[pool]!)
      holding[pool] = nil
      waiting[pool] = now
    }
  }

  private mutating func open(_ pool: Int) {
    holding[pool] = now
    longestWait = max(longestWait, now - waiting[pool])
    mostTaken = max(mostTaken, taken)
  }
}
