// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Testing

/// A credential that APNs refuses while pushes are under way.
@Suite struct CredentialRefusalTests {
  private static let answers: [GatewayResponse] =
    Reason.allCases.filter { $0.rule.subject == .credential }
    .map { GatewayResponse(status: $0.rule.status, reason: $0) }
    + [GatewayResponse(status: 403, body: .otherReason)]

  @Test(arguments: answers, [0, 3] as [Int])
  func `a key that is revoked for seconds under load costs no push`(
    answer: GatewayResponse, otherApps: Int
  ) {
    let loop = ScriptedLoop()
    let apps = ["app"] + (0..<otherApps).map { "app\($0)" }
    loop.publishToken(apps: apps)
    for number in 0..<400 { loop.produce(number, app: apps[number % apps.count]) }
    loop.run(milliseconds: 500)
    loop.answer { _ in .answer(answer, after: 20, retryAfter: 0) }
    for number in 400..<2_000 { loop.produce(number, app: apps[number % apps.count]) }
    loop.run(milliseconds: 3_000)
    loop.answer { _ in .accepted }
    #expect(loop.runToEnd(of: 2_000, within: 2_400_000), "\(loop.endings.count)")
    #expect(loop.count(.delivered) == 2_000, "\(answer.status)")
  }

  @Test(arguments: answers)
  func `an app that is refused for good waits as long as its lane allows, and the others go out`(
    answer: GatewayResponse
  ) throws {
    guard answer.reason?.rule.credential != .freeze, answer.reason != .unrelatedKeyIdInToken,
      answer.reason != .expiredProviderToken
    else { return }
    let loop = ScriptedLoop()
    loop.publishToken(apps: ["app", "refused"])
    loop.answer { $0.app == "refused" ? .answer(answer, after: 20, retryAfter: 0) : .accepted }
    let created = loop.wall
    for number in 0..<5 { loop.produce(number) }
    for number in 5..<10 { loop.produce(number, app: "refused") }
    for minute in 1...59 {
      loop.produce(10 * minute)
      loop.run(milliseconds: 60_000, step: 200)
      if minute % 10 == 0 { loop.publishToken(apps: ["app", "refused"]) }
    }
    #expect(loop.endings.values.allSatisfy { $0.outcome == .delivered })
    #expect(loop.count(.delivered) == 5 + 59)
    loop.run(milliseconds: 1_800_000, step: 200)
    for number in 5..<10 {
      let ending = try #require(loop.endings[number])
      #expect(ending.outcome == .expired && ending.cause == .age)
      #expect(Int64(ending.at) + ScriptedLoop.epoch - created >= 3_600_000)
    }
    let sends = loop.requests.count { $0.app == "refused" }
    #expect(sends <= 120, "\(sends)")
  }

  @Test func `more refused apps than a table of breakers had are not asked again and again`() {
    let loop = ScriptedLoop()
    let apps = (0..<120).map { "refused\($0)" }
    loop.publishToken(apps: ["app"] + apps)
    loop.answer { $0.app == "app" ? .accepted : .reason(.invalidProviderToken) }
    // In a lane of their own: in one line with others they find out one after the other.
    for number in 0..<240 { loop.produce(number, app: apps[number % 120], lane: .bulk) }
    for second in 1...120 {
      loop.produce(1_000 + second)
      loop.run(milliseconds: 1_000)
    }
    #expect(loop.run(within: 30_000) { loop.delivered(1_001..<1_121) }, "\(loop.count(.delivered))")
    let sends = loop.requests.count { $0.app != "app" }
    #expect(sends <= 240 + 6 * 120, "\(sends)")
  }

  @Test func `an id that was refused by a setting is free again, one that was accepted is not`() {
    let loop = ScriptedLoop()
    loop.produce(0)
    #expect(loop.runToEnd(of: 1))
    loop.produce(1) { $0.dedupKey = NotificationID(high: 1, low: 0) }
    loop.produce(2) {
      $0.dedupKey = NotificationID(high: 1, low: 0)
      $0.payload = 9
    }
    #expect(loop.runToEnd(of: 3))
    #expect(loop.endings[1]?.outcome == .deduplicated && loop.endings[1]?.cause == .repeatedID)
    #expect(loop.endings[2]?.outcome == .deduplicated && loop.endings[2]?.cause == .otherPayload)
    loop.free(NotificationID(high: 1, low: 0))
    loop.produce(3) { $0.dedupKey = NotificationID(high: 1, low: 0) }
    #expect(loop.runToEnd(of: 4))
    #expect(loop.endings[3]?.outcome == .delivered)
    loop.run(milliseconds: 2_000)
    #expect(loop.committable[0] == 5, "the record that freed it is done, too")
  }
}
