// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Testing

/// Tenants of one loop do not slow each other. (`Intake`, `Shares`)
@Suite struct TenantFairnessTests {
  private static let flood = 2_000
  /// The trouble of another tenant may cost so much: a full destination may stop the intake for 0.2 s a time, and what
  /// waits for it has to be read past.
  private static let bound: Int64 = 2_500

  /// A loop whose flooding tenant has waiting what `Self.flood` says, in all partitions, after the good one's token.
  private func flooded(
    hasToken: Bool = true, _ change: (inout DispatchSettings) -> Void = { _ in },
    reply: @escaping (ScriptedRequest) -> ScriptedReply
  ) -> ScriptedLoop {
    let loop = ScriptedLoop(partitions: 4, hasToken: false) {
      $0.maxInFlight = 600
      change(&$0)
    }
    loop.publishToken("good", apps: ["good"])
    if hasToken { loop.publishToken("flood", apps: ["flood"]) }
    loop.answer(reply)
    loop.produce(0..<Self.flood, app: "flood")
    #expect(loop.run { loop.counted(.diverted) > Self.flood / 2 })
    return loop
  }

  /// The good tenant's pushes, one each 10 ms for two seconds, are delivered in time.
  private func expectUndisturbed(_ loop: ScriptedLoop) {
    let numbers = 10_000..<10_200
    for number in numbers {
      loop.produce(number, app: "good")
      loop.run(milliseconds: 10)
    }
    loop.run(milliseconds: UInt64(Self.bound))
    #expect(loop.delivered(numbers, attempts: 1))
    let slowest = numbers.compactMap(loop.latency).max() ?? .max
    #expect(slowest <= Self.bound, "\(slowest) ms")
  }

  @Test func `a tenant that is not answered does not slow another one, and loses nothing`() {
    let loop = flooded(reply: { $0.app == "flood" ? .hold : .accepted })
    expectUndisturbed(loop)
    #expect(loop.held <= 600 && loop.count(.deadLettered) == 0)
    loop.answer { _ in .accepted }
    loop.answerHeld()
    #expect(loop.runToEnd(of: Self.flood + 200, within: 900_000))
    #expect(loop.delivered(0..<Self.flood))
  }

  @Test func `a tenant whose provider token is refused does not slow another one`() {
    let loop = flooded(reply: { $0.app == "flood" ? .reason(.invalidProviderToken) : .accepted })
    expectUndisturbed(loop)
    let refused = loop.requests.count { $0.app == "flood" }
    #expect(refused <= 8, "\(refused) requests with a token that is refused")
    loop.answer { _ in .accepted }
    loop.publishToken("flood", apps: ["flood"])
    #expect(loop.runToEnd(of: Self.flood + 200, within: 900_000))
    #expect(loop.delivered(0..<Self.flood))
  }

  @Test
  func `a tenant without a credential does not slow another one; its pushes become dead letters`() {
    let loop = flooded(hasToken: false, { $0.credentialWait = 3_000 }, reply: { _ in .accepted })
    expectUndisturbed(loop)
    #expect(loop.runToEnd(of: Self.flood + 200, within: 300_000))
    #expect((0..<Self.flood).allSatisfy { loop.endings[$0]?.cause == .noCredential })
    #expect(loop.requests.allSatisfy { $0.app == "good" })
  }

  /// Slots enough for all of it: what would stop is the partition, which has its own bound of what is open.
  @Test(arguments: [false, true])
  func `a tenant that fills partitions, not the loop, does not slow another one in them`(
    hasToken: Bool
  ) {
    let loop = flooded(
      hasToken: hasToken,
      {
        $0.maxInFlight = 20_000
        $0.partitionBounds.openAtMost = 200
      }, reply: { $0.app == "flood" ? .hold : .accepted })
    expectUndisturbed(loop)
    loop.answer { _ in .accepted }
    loop.answerHeld()
    if !hasToken { loop.publishToken("flood", apps: ["flood"]) }
    #expect(loop.runToEnd(of: Self.flood + 200, within: 900_000))
    #expect(loop.delivered(0..<Self.flood))
  }

  @Test func `two credentials that are answered at full lines: nothing is moved aside`() {
    let loop = ScriptedLoop(partitions: 4, hasToken: false) {
      $0.maxInFlight = 600
      $0.pool.maximum = 1
    }
    loop.gateways[0].streams = 50
    loop.answer { _ in .accepted(after: 50) }
    for number in 0..<2 { loop.publishToken("key\(number)", apps: ["app\(number)"]) }
    for part in 0..<6 { loop.produce(part * 1_000..<part * 1_000 + 1_000, app: "app\(part % 2)") }
    #expect(loop.runToEnd(of: 6_000))
    #expect(loop.moves.isEmpty && loop.requests.count == 6_000)
  }

  @Test func `a silent gateway stops the intake: what is held stays within the bound`() {
    let loop = ScriptedLoop { $0.maxInFlight = 500 }
    loop.answer { _ in .hold }
    loop.produce(0..<10_000)
    for _ in 0..<200 {
      loop.run(milliseconds: 50)
      #expect(loop.held <= 500)
    }
    #expect(loop.counted(.taken) <= 500 && loop.moves.isEmpty, "the rest waits in Kafka")
  }

  @Test func `outcomes that Kafka does not acknowledge stop the intake at a bound`() {
    let loop = ScriptedLoop {
      $0.maxInFlight = 500
      $0.partitionBounds.openAtMost = 1_000_000
    }
    loop.isAcknowledged = false
    loop.produce(0..<30_000)
    loop.run(milliseconds: 30_000)
    #expect((20_000...20_500).contains(loop.counted(.taken)), "\(loop.counted(.taken)) taken")
    #expect(loop.committable[0] ?? 0 == 0)
    loop.isAcknowledged = true
    #expect(loop.runToEnd(of: 30_000))
    loop.run(milliseconds: 500)
    #expect(loop.committable[0] == 30_000)
  }
}

/// The lanes, and devices within them.
@Suite struct LaneFairnessTests {
  @Test func `a long bulk backlog leaves transactional latency within twice its idle value`() {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    loop.gateways[0].streams = 100
    loop.answer { _ in .accepted(after: 50) }
    let idle = latency(loop, from: 1_000_000)
    loop.produce(0..<16_000, lane: .bulk)
    #expect(loop.run { loop.endings.count > 800 })
    let loaded = latency(loop, from: 2_000_000)
    let delivered = (0..<16_000).count { loop.endings[$0] != nil }
    #expect(delivered > 2_000 && delivered < 16_000, "bulk was there all the time, and went on")
    #expect(loaded <= 2 * idle, "idle \(idle) ms, with a bulk backlog \(loaded) ms")
  }

  /// The longest time that a transactional push takes, of one each 10 ms for two seconds.
  private func latency(_ loop: ScriptedLoop, from first: Int) -> Int64 {
    for number in first..<first + 200 {
      loop.produce(number)
      loop.run(milliseconds: 10)
    }
    #expect(loop.run { loop.delivered(first..<first + 200) })
    return (first + 10..<first + 200).compactMap(loop.latency).max()!
  }

  @Test func `retries and bulk leave a part of the slots to transactional first sends`() {
    let loop = ScriptedLoop { $0.maxInFlight = 500 }
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<2_000, lane: .bulk)
    loop.run(milliseconds: 1_500)
    #expect(loop.held == 400)
    loop.produce(2_000..<2_050)
    loop.run(milliseconds: 100)
    #expect(loop.held == 450)
  }

  @Test func `in order: one push of a device at a time; other devices are not slowed`() {
    let loop = ScriptedLoop { $0.isOrdered = true }
    loop.answer { _ in .accepted(after: 40) }
    for number in 0..<50 { loop.produce(number) { $0.device = 7_777 } }
    loop.produce(100..<600)
    #expect(loop.runToEnd(of: 550))
    let log = loop.requests.filter { $0.device == 7_777 }
    #expect(log.map(\.push) == Array(0..<50))
    for (before, after) in zip(log, log.dropFirst()) {
      #expect(after.at >= before.at + 40, "two pushes of one device were open")
    }
    #expect((100..<600).allSatisfy { (loop.latency(of: $0) ?? .max) < 500 })
  }

  @Test
  func `TooManyRequests delays that device only: what stands in line for it, and what follows`() {
    let loop = ScriptedLoop { $0.pool.maximum = 1 }
    // One stream: the pushes after the first one stand in line until that one is refused.
    loop.gateways[0].streams = 1
    loop.answer { $0.push == 0 ? .reason(.tooManyRequests, after: 1_500) : .accepted(after: 0) }
    loop.produce(0..<6) { $0.device = 7_777 }
    loop.produce(100..<120)
    #expect(loop.run { !loop.moves.isEmpty })
    loop.answer { _ in .accepted(after: 0) }
    loop.produce(6) { $0.device = 7_777 }
    loop.produce(120..<300)
    let refusedAt = loop.moves[0].at
    #expect(loop.runToEnd(of: 207))
    #expect(loop.delivered(0..<7) && loop.delivered(100..<300))
    #expect((0..<7).allSatisfy { (loop.endings[$0]?.at ?? 0) >= refusedAt + 5_000 })
    #expect((100..<300).allSatisfy { (loop.endings[$0]?.at ?? .max) < refusedAt + 4_000 })
    #expect(loop.counted(.retried) == 1 && loop.counted(.diverted) == 6)
    #expect(
      (1..<7).allSatisfy { loop.endings[$0]?.attempts == 1 }, "what was not sent is no attempt")
  }
}
