// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// An outage of the gateway stops consumption; it is not spilled into retries or dead letters. (`Pool`, `Upkeep`,
/// `GatewayKind`)
@Suite struct OutageTests {
  private static let count = 6_000

  /// Load through an outage of some seconds.
  private func outage(
    lasting milliseconds: UInt64 = 3_000, parkedAtMost: Int = 50,
    _ change: (inout DispatchSettings) -> Void = { _ in },
    begin: (ScriptedLoop) -> Void, end: (ScriptedLoop) -> Void
  ) -> ScriptedLoop {
    let loop = ScriptedLoop {
      $0.maxAttempts = 3
      $0.pool.maximum = 2
      change(&$0)
    }
    loop.produce(0..<1_000)
    #expect(loop.runToEnd(of: 500))
    begin(loop)
    loop.produce(1_000..<Self.count)
    loop.run(milliseconds: milliseconds)
    end(loop)
    #expect(loop.runToEnd(of: Self.count))
    #expect(loop.delivered(0..<Self.count))
    // A push on a retry topic has used an attempt up: a few may, before the outage is noticed.
    #expect(loop.moves.count <= parkedAtMost, "\(loop.moves.count) moved")
    #expect(loop.requests.count - Self.count < 2_200, "\(loop.requests.count) requests")
    return loop
  }

  @Test(arguments: [Reason.serviceUnavailable, .internalServerError, .shutdown])
  func `every answer is a server's fault: sending stops, and all is delivered afterwards`(
    reason: Reason
  ) {
    let loop = outage(
      begin: { $0.answer { _ in .reason(reason) } }, end: { $0.answer { _ in .accepted } })
    #expect(loop.counted(.keptInOutage) > 0)
    #expect(loop.endings.values.allSatisfy { $0.attempts <= 3 + 8 })
  }

  @Test(arguments: [503, 403, 200] as [UInt16])
  func
    `every answer is of something else than APNs: sending stops, and all is delivered afterwards`(
      status: UInt16
    )
  {
    let foreign = GatewayResponse(status: status, id: .none)
    let loop = outage(
      begin: { $0.answer { _ in .answer(foreign, after: 20, retryAfter: 0) } },
      end: { $0.answer { _ in .accepted } })
    #expect(loop.count(.rejected) == 0)
  }

  @Test func `every connection breaks and is refused: all is delivered afterwards`() {
    _ = outage(
      begin: {
        $0.connect(.refused)
        $0.tell(.broken)
      }, end: { $0.connect(.served) })
  }

  @Test func `nothing is answered: all is delivered afterwards`() {
    let loop = outage(
      lasting: 9_000, parkedAtMost: 200,
      {
        $0.requestTimeout = 2_000
        $0.maxInFlight = 400
      }, begin: { $0.answer { _ in .hold } }, end: { $0.answer { _ in .accepted } })
    #expect(loop.counted(.timedOut) > 0)
  }

  @Test func `what expires in an outage ends as expired, in time`() {
    let loop = ScriptedLoop()
    loop.produce(0..<100)
    #expect(loop.runToEnd(of: 100))
    loop.answer { _ in .reason(.serviceUnavailable) }
    loop.produce(100..<120)
    #expect(loop.run { loop.counted(.keptInOutage) > 0 })
    loop.produce(200..<220) { $0.expiresAt = loop.wall + 10_000 }
    loop.run(milliseconds: 12_000)
    #expect((200..<220).allSatisfy { loop.endings[$0]?.cause == .expiration })
    #expect(loop.count(.deadLettered) == 0)
  }

  @Test
  func `an outage's first push, alone with it, waits for seconds, not for a quarter of an hour`() {
    let loop = ScriptedLoop()
    loop.produce(0..<50)
    #expect(loop.runToEnd(of: 50))
    loop.answer { _ in .reason(.serviceUnavailable) }
    loop.produce(50)
    #expect(loop.run { !loop.moves.isEmpty })
    let answer = GatewayResponse(status: 503, reason: .serviceUnavailable)
    #expect(loop.moves.map(\.tier) == [.seconds5] && loop.moves[0].reason == .failure(answer))
    #expect(loop.requests(of: 50).count == 3)
    loop.answer { _ in .accepted }
    #expect(loop.runToEnd(of: 51, within: 7_000))
  }

  @Test func `recovery ramps up: what is open doubles with every round trip, from a few`() throws {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    loop.answer { _ in .reason(.serviceUnavailable) }
    loop.produce(0..<3_000)
    #expect(loop.run { loop.counted(.keptInOutage) > 0 })
    loop.run(milliseconds: 300)
    let before = loop.requests.count
    loop.answer { _ in .accepted(after: 100) }
    #expect(loop.run { loop.endings.count + loop.moves.count >= 3_000 })
    #expect(loop.moves.count <= 2)
    let sent = loop.requests.dropFirst(before).map(\.at)
    let start = try #require(sent.first)
    let early = sent.count { $0 < start + 190 }
    #expect(early <= 32, "\(early) within two round trips")
    #expect(sent.count { $0 < start + 1_100 } > 1_000, "and it does grow")
  }

  @Test func `a pause that the gateway asks for with a 503 is kept`() throws {
    let loop = ScriptedLoop()
    loop.answer { _ in .reason(.serviceUnavailable, after: 0, retryAfter: 30) }
    loop.produce(0..<500)
    #expect(loop.run { loop.counted(.keptInOutage) > 0 })
    loop.run(milliseconds: 1_000)
    let (last, count) = (try #require(loop.requests.last?.at), loop.requests.count)
    loop.answer { _ in .accepted }
    #expect(loop.run { loop.requests.count > count })
    #expect(loop.requests.last!.at >= last + 29_000)
  }

  @Test func `an outage of one environment leaves the other one alone`() {
    let loop = ScriptedLoop()
    loop.produce(0..<10)
    loop.produce(10..<20) { $0.environment = .sandbox }
    #expect(loop.runToEnd(of: 20))
    #expect(loop.pools == 2)
    loop.answer { $0.environment == .production ? .reason(.serviceUnavailable) : .accepted }
    loop.produce(100..<500)
    loop.run(milliseconds: 100)
    loop.produce(500..<600) { $0.environment = .sandbox }
    #expect(loop.run(within: 3_000) { loop.delivered(500..<600, attempts: 1) })
  }
}
