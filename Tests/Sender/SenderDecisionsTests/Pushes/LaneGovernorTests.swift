// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import SenderDecisions

@Suite struct LaneGovernorTests {
  /// One look after half a second with so many answers of the first lane.
  private func look(
    _ governor: inout LaneGovernor, _ now: inout UInt64, latency: Int64, answers: Int = 20,
    open: Int, overloads: Int = 0, others: Int = 0, isWanted: Bool = true, hasFirst: Bool = false
  ) {
    now = max(now + 500, governor.lookAt)
    for _ in 0..<answers {
      governor.answered(first: latency)
      governor.answered(isOverload: false)
    }
    for place in 0..<others { governor.answered(isOverload: place < overloads) }
    governor.look(open: open, isWanted: isWanted, hasFirst: hasFirst, now: now)
  }

  @Test func `streams halve while latency is over its floor, and grow by 5 % a second afterwards`()
  {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    #expect(governor.limit == .max)
    look(&governor, &now, latency: 40, open: 400)
    #expect(governor.limit == 196)
    look(&governor, &now, latency: 35, open: 196)
    #expect(governor.limit == 98)
    for _ in 0..<20 { look(&governor, &now, latency: 22, open: 98) }
    #expect((155...165).contains(governor.limit), "\(governor.limit)")
    for _ in 0..<4 { look(&governor, &now, latency: 20, open: 98) }
    #expect((300...340).contains(governor.limit), "nothing queues: \(governor.limit)")
  }

  @Test func `a crowd is brought down at once, and what it left in the queue is not judged`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 4_000)
    look(&governor, &now, latency: 2_000, open: 4_000)
    #expect(governor.limit == 39)
    for open in [3_000, 1_000, 39] {
      look(&governor, &now, latency: 4_000, open: open)
      #expect(governor.limit == 39)
    }
    look(&governor, &now, latency: 24, open: 39)
    #expect(governor.limit > 39)
  }

  @Test func `the limit holds while the first lane sends, and not without it`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    look(&governor, &now, latency: 40, open: 400)
    #expect(governor.limit == 196)
    look(&governor, &now, latency: 0, answers: 0, open: 196)
    #expect(governor.limit < 210, "a pause of half a second is none")
    look(&governor, &now, latency: 0, answers: 0, open: 200)
    #expect(governor.limit == .max)
    governor.sendsFirst(now: now)
    #expect((200...220).contains(governor.limit), "at once: \(governor.limit)")
    look(&governor, &now, latency: 900, open: 1_000)
    #expect((200...220).contains(governor.limit), "that was in the others' queue")
    look(&governor, &now, latency: 20, open: 200)
    look(&governor, &now, latency: 20, open: 200)
    #expect(governor.limit > 220)
  }

  @Test func `a first lane whose pushes have no answer yet is not away`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    look(&governor, &now, latency: 40, open: 400)
    for _ in 0..<6 {
      governor.sendsFirst(now: now)
      look(&governor, &now, latency: 0, answers: 0, open: 196)
    }
    #expect((196...240).contains(governor.limit))
    // A slow gateway has no stream for more of them.
    for _ in 0..<6 { look(&governor, &now, latency: 0, answers: 0, open: 196, hasFirst: true) }
    #expect((196...270).contains(governor.limit))
    for _ in 0..<2 { look(&governor, &now, latency: 0, answers: 0, open: 196) }
    #expect(governor.limit == .max)
  }

  @Test func `a limit for 503s holds without a first lane, too`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 0, answers: 0, open: 400)
    look(&governor, &now, latency: 0, answers: 0, open: 400, overloads: 20, others: 500)
    #expect(governor.limit == 200)
    for _ in 0..<4 { look(&governor, &now, latency: 0, answers: 0, open: 200, others: 500) }
    #expect((200...230).contains(governor.limit))
  }

  @Test func `a limit without which there are 503s is not lifted again`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    look(&governor, &now, latency: 40, open: 400)
    for _ in 0..<2 { look(&governor, &now, latency: 0, answers: 0, open: 196) }
    #expect(governor.limit == .max)
    look(&governor, &now, latency: 0, answers: 0, open: 1_000, overloads: 20, others: 500)
    for _ in 0..<6 {
      #expect((200...250).contains(governor.limit), "\(governor.limit)")
      look(&governor, &now, latency: 0, answers: 0, open: 200, others: 500)
    }
  }

  @Test func `what nobody needs has no limit, also where the first lane seldom sends`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    look(&governor, &now, latency: 40, open: 400)
    #expect(governor.limit == 196)
    for _ in 0..<8 {
      governor.sendsFirst(now: now)
      for _ in 0..<4 {
        look(&governor, &now, latency: 0, answers: 0, open: 10, isWanted: false)
      }
    }
    governor.sendsFirst(now: now)
    #expect(governor.limit == .max)
  }

  @Test func `what is a little too much is taken back and no more, unless there are 503s`() {
    for (overloads, limit) in [(0, 19), (20, 15)] {
      var governor = LaneGovernor()
      var now: UInt64 = 1_000
      look(&governor, &now, latency: 20, open: 30)
      look(&governor, &now, latency: 30, open: 30, overloads: overloads, others: 500)
      #expect(governor.limit == limit)
    }
  }

  @Test func `retries above the limit do not keep it for ever`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 100)
    look(&governor, &now, latency: 40, open: 100)
    #expect(governor.limit == 49)
    for _ in 0..<50 { look(&governor, &now, latency: 24, open: 60) }
    #expect(governor.limit == 49)
    for _ in 0..<20 { look(&governor, &now, latency: 24, open: 60) }
    #expect(governor.limit > 49)
  }

  @Test func `nothing is judged by few answers, and a few milliseconds are noise`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 1, open: 400)
    look(&governor, &now, latency: 500, answers: LaneGovernor.least - 1, open: 400)
    look(&governor, &now, latency: 5, open: 400)
    #expect(governor.limit == .max)
    look(&governor, &now, latency: 6, open: 400)
    #expect(governor.limit == 233)
  }

  @Test func `more than 1 % of 503 halves them`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, answers: 0, open: 100, overloads: 5, others: 500)
    #expect(governor.limit == .max)
    look(&governor, &now, latency: 20, answers: 0, open: 100, overloads: 6, others: 500)
    #expect(governor.limit == 50)
    look(&governor, &now, latency: 20, answers: 0, open: 50, overloads: 6, others: 99)
    #expect(governor.limit >= 50)
  }

  @Test func `for a gateway that is slower whatever is done nobody is held back`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 1_000)
    for _ in 0..<LaneGovernor.patience {
      look(&governor, &now, latency: 80, open: min(1_000, governor.limit))
    }
    #expect(governor.limit == 30)
    look(&governor, &now, latency: 80, open: 30)
    #expect(governor.limit == .max)
    for _ in 0..<10 { look(&governor, &now, latency: 80, open: 1_000) }
    #expect(governor.limit == .max, "that is the floor now")
  }

  @Test func `a floor is forgotten after three minutes, and what nobody needs has no limit`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 100)
    now += 181_000
    look(&governor, &now, latency: 60, open: 100)
    #expect(governor.limit == .max)
    look(&governor, &now, latency: 100, open: 100)
    #expect(governor.limit == 58)
    // A pause between two gusts is no end of the need.
    look(&governor, &now, latency: 60, open: 10, isWanted: false)
    #expect(governor.limit == 58)
    now += LaneGovernor.calm
    look(&governor, &now, latency: 60, open: 10, isWanted: false)
    #expect(governor.limit == .max)
  }

  @Test func `a clock that is set back holds nobody back`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    for _ in 0..<5 { governor.answered(first: -60_000) }
    for _ in 0..<10 { look(&governor, &now, latency: 20, open: 400) }
    #expect(governor.limit == .max)
  }

  @Test func `a clock that is set ahead holds nobody back`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, open: 400)
    for _ in 0..<400 { governor.answered(first: 3_600_020, timeout: 30_000) }
    governor.look(open: 400, isWanted: true, hasFirst: true, now: now + 500)
    #expect(governor.limit == .max && governor.lookAt == now + 1_000)
    for _ in 0..<10 { look(&governor, &now, latency: 20, open: 400) }
    #expect(governor.limit == .max)
  }

  @Test func `the other lanes always have some`() {
    var governor = LaneGovernor()
    var now: UInt64 = 1_000
    look(&governor, &now, latency: 20, answers: 0, open: 6, overloads: 200, others: 200)
    look(&governor, &now, latency: 20, answers: 0, open: 5, overloads: 200, others: 200)
    look(&governor, &now, latency: 20, answers: 0, open: 4, overloads: 200, others: 200)
    #expect(governor.limit == LaneGovernor.lowest)
  }
}
