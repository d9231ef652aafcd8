// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// The way of a push that fails: at once again, over the retry topics, to its end.
@Suite struct RetryTests {
  /// A loop that serves all pushes but the first, one of which comes every second.
  private func loop(
    _ change: (inout DispatchSettings) -> Void = { _ in },
    first reply: @escaping (ScriptedRequest) -> ScriptedReply
  ) -> ScriptedLoop {
    let loop = ScriptedLoop(change)
    loop.answer { $0.push == 0 ? reply($0) : .accepted }
    return loop
  }

  /// Lets seconds pass, with a push that is served in each of them.
  private func pass(_ seconds: Int, _ loop: ScriptedLoop) {
    for _ in 0..<seconds {
      loop.produce(1_000_000 + Int(loop.now))
      loop.run(milliseconds: 1_000)
    }
  }

  @Test
  func `without an answer: at once again, then by a retry topic when due, then a dead letter`() {
    let loop = loop(
      {
        $0.requestTimeout = 1_000
        $0.maxAttempts = 4
      }, first: { _ in .hold })
    pass(2, loop)
    loop.produce(0)
    pass(9, loop)
    let times = loop.requests(of: 0).map(\.at)
    #expect(times.count == 3 && loop.moves.map(\.tier) == [.seconds5])
    #expect(loop.moves.first?.reason == .failure(nil))
    #expect(zip(times, times.dropFirst()).allSatisfy { $1 - $0 < 3_500 })
    pass(12, loop)
    #expect(loop.requests(of: 0).count == 4)
    #expect(loop.requests(of: 0)[3].at >= loop.moves[0].at + 5_000)
    #expect(loop.endings[0]?.outcome == .deadLettered && loop.endings[0]?.cause == .retries)
    #expect(loop.endings[0]?.attempts == 4)
  }

  @Test
  func `a server's fault: a quarter of an hour after it failed twice while others are served`() {
    let loop = loop(first: { _ in .reason(.internalServerError) })
    pass(2, loop)
    loop.produce(0)
    pass(30, loop)
    #expect(loop.moves.first?.push == 0)
    #expect(loop.requests(of: 0).count <= 4)
    let tiers = loop.moves.map(\.tier)
    #expect(tiers == [.minutes15] && loop.endings[0] == nil, "\(tiers)")
  }

  @Test(
    arguments: [
      (0, .seconds5), (5, .seconds5), (40, .minute1), (61, .minutes15), (3_600, .minutes15),
    ] as [(UInt32, RetryTier)])
  func `retry-after of a throttled device decides how long its push waits`(
    seconds: UInt32, tier: RetryTier
  ) {
    let loop = loop(first: { _ in .reason(.tooManyRequests, retryAfter: seconds) })
    loop.produce(0)
    #expect(loop.run(within: 5_000) { !loop.moves.isEmpty })
    #expect(loop.moves.map(\.tier) == [tier])
    #expect(loop.requests(of: 0).count == 1)
  }

  @Test
  func `a push that expires before its retry is due has expired; one that lives on waits less`() {
    let loop = loop(first: { _ in .reason(.tooManyRequests, retryAfter: 40) })
    loop.produce(0) { $0.expiresAt = loop.wall + 30_000 }
    #expect(loop.run(within: 5_000) { loop.endings[0] != nil })
    #expect(loop.endings[0]?.outcome == .expired && loop.moves.isEmpty)
    #expect(loop.endings[0]?.answer?.reason == .tooManyRequests)
  }

  @Test func `attempts of earlier stays count: the last one is the last`() {
    let loop = loop({ $0.maxAttempts = 4 }, first: { _ in .reset })
    pass(2, loop)
    loop.produce(0) { $0.attempt = 3 }
    pass(2, loop)
    #expect(loop.endings[0]?.outcome == .deadLettered && loop.endings[0]?.attempts == 4)
    #expect(loop.requests(of: 0).count == 1)
  }

  @Test func `prompt retries stay within their budget; what is over it waits for seconds`() {
    let loop = ScriptedLoop { $0.retryBudgetPercent = 20 }
    // Half of all answers are of a connection that dies on them.
    var seen: Set<Int> = []
    loop.answer { $0.push % 2 == 1 && seen.insert($0.push).inserted ? .reset : .accepted }
    for second in 0..<20 {
      loop.produce(second * 100..<second * 100 + 100)
      loop.run(milliseconds: 1_000)
    }
    let prompt = loop.counted(.resentAmbiguous)
    #expect(prompt <= 32 + 2_000 / 5 + 20, "\(prompt) at once")
    #expect(loop.counted(.retriesOverBudget) > 0)
    #expect(loop.moves.allSatisfy { $0.tier == .seconds5 })
    #expect(loop.runToEnd(of: 2_000))
    #expect(loop.delivered(0..<2_000, attempts: 2))
  }

  @Test func `a wave of retries begins slowly and becomes fast`() throws {
    let loop = ScriptedLoop()
    var seen: Set<Int> = []
    loop.answer { seen.insert($0.push).inserted ? .reason(.tooManyRequests) : .accepted }
    loop.produce(0..<400)
    #expect(loop.run { loop.moves.count == 400 })
    #expect(loop.runToEnd(of: 400))
    let times = loop.requests.suffix(400).map(\.at)
    let start = try #require(times.first)
    #expect(start >= loop.moves[0].at + 5_000)
    #expect(times.count { $0 < start + 100 } < 60, "not all at once")
    #expect(times.last! - start < 4_000)
  }

  @Test func `a reset stream is ambiguous: an attempt, and another connection if there is one`() {
    let loop = ScriptedLoop { $0.pool.minimum = 2 }
    loop.produce(100..<150)
    #expect(loop.runToEnd(of: 50))
    var resets = 0
    loop.answer { request in
      guard request.push == 0, resets == 0 else { return .accepted }
      resets += 1
      return .reset
    }
    loop.produce(0)
    #expect(loop.runToEnd(of: 51))
    #expect(loop.endings[0]?.attempts == 2 && loop.counted(.resentAmbiguous) == 1)
    #expect(Set(loop.requests(of: 0).map(\.connection)).count == 2)
  }

  // MARK: Repeats

  @Test func `a repeated apns-id is not sent, however often it comes`() {
    let loop = ScriptedLoop()
    loop.produce(0..<10) { $0.dedupKey = NotificationID(high: 9, low: 9) }
    #expect(loop.runToEnd(of: 10))
    #expect(loop.requests.count == 1 && loop.count(.deduplicated) == 9)
    #expect(
      loop.endings.values.filter { $0.outcome == .deduplicated }.allSatisfy {
        $0.cause == .repeatedID
      })
  }

  @Test func `a repeat is known only as far back as the window reaches`() {
    let loop = ScriptedLoop { $0.dedupWindow = 100 }
    loop.produce(0) { $0.dedupKey = NotificationID(high: 9, low: 9) }
    loop.produce(1..<50)
    loop.produce(50) { $0.dedupKey = NotificationID(high: 9, low: 9) }
    loop.produce(51..<500)
    loop.produce(500) { $0.dedupKey = NotificationID(high: 9, low: 9) }
    #expect(loop.runToEnd(of: 501))
    #expect(loop.endings[50]?.outcome == .deduplicated)
    #expect(loop.endings[500]?.outcome == .delivered)
  }

  @Test func `a push that comes back from a retry topic is no repeat`() {
    let loop = loop(first: { _ in .reason(.tooManyRequests) })
    loop.produce(0)
    #expect(loop.run { loop.moves.count == 1 })
    loop.answer { _ in .accepted }
    #expect(loop.runToEnd(of: 1))
    #expect(loop.endings[0]?.outcome == .delivered && loop.endings[0]?.attempts == 2)
  }

  // MARK: Dead tokens

  @Test func `what was requested before APNs called a device dead is not sent, what came later is`()
  {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 0 ? .reason(.unregistered) : .accepted }
    loop.produce(0) { $0.device = 7 }
    #expect(loop.runToEnd(of: 1))
    loop.produce(1) {
      $0.device = 7
      $0.created = loop.wall - 60_000
    }
    loop.produce(2) {
      $0.device = 8
      $0.created = loop.wall - 60_000
    }
    loop.run(milliseconds: 500)
    #expect(loop.endings[1]?.outcome == .suppressed && loop.endings[1]?.cause == .recentlyInvalid)
    #expect(loop.endings[2]?.outcome == .delivered)
    loop.run(milliseconds: 1_000)
    loop.produce(3) { $0.device = 7 }
    #expect(loop.runToEnd(of: 4))
    #expect(loop.endings[3]?.outcome == .delivered)
  }

  @Test func `an answer to a broadcast says nothing about any device`() {
    let loop = ScriptedLoop()
    loop.answer { $0.push == 0 ? .reason(.unregistered) : .accepted }
    loop.produce(0) {
      $0.device = 7
      $0.target = .channel
    }
    #expect(loop.runToEnd(of: 1))
    loop.produce(1) {
      $0.device = 7
      $0.created = loop.wall - 60_000
    }
    #expect(loop.runToEnd(of: 2))
    #expect(loop.endings[1]?.outcome == .delivered)
  }
}
