// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import SenderDecisions

/// Campaigns that are paused or over: what was addressed and is not sent waits or ends.
@Suite struct CampaignHoldTests {
  private static let key = CampaignKey(name: "sale", app: "app", environment: .production)!
  private static let hash = CampaignHolds.hash(
    app: AppHash.of("app".utf8.span), .production, name: AppHash.of("sale".utf8.span))

  @Test func `a cancelled campaign's pushes end unsent, wherever they wait, and no others`() {
    let loop = ScriptedLoop()
    loop.pace([(.group("app", .production, "g"), "2/s")])
    let group = AppHash.of("g".utf8.span)
    loop.produce(0..<297, lane: .bulk) { ($0.campaign, $0.group) = (Self.hash, group) }
    loop.run(milliseconds: 5_000)
    let sent = loop.requests.count
    #expect((5...15).contains(sent) && !loop.moves.isEmpty)
    loop.hold([(Self.key, .cancelled)])
    // What waits in slots ends at once, what is on retry topics when it comes back.
    #expect(loop.run(within: 1_000) { loop.held <= 3 })
    #expect(loop.runToEnd(of: 297, within: 920_000))
    let ended = loop.endings.values.filter { $0.outcome == .cancelled }
    #expect(loop.requests.count == sent && ended.count == 297 - sent)
    #expect(ended.allSatisfy { $0.cause == .campaignOver })
    // Also those that come now; another campaign's, and those of none, go out.
    loop.pace([])
    loop.produce(300..<310) { $0.campaign = Self.hash }
    loop.produce(310..<320) { $0.campaign = Self.hash &+ 2 }
    loop.produce(320..<330)
    #expect(loop.run(within: 2_000) { loop.delivered(310..<330) })
    #expect((300..<310).allSatisfy { loop.endings[$0]?.outcome == .cancelled })
  }

  @Test func `a paused campaign's pushes wait, and go, end or expire afterwards`() {
    let loop = ScriptedLoop()
    loop.hold([(Self.key, .paused)])
    loop.produce(0..<10) { $0.campaign = Self.hash }
    loop.produce(10) {
      $0.campaign = Self.hash
      $0.expiresAt = loop.wall + 12_000
    }
    loop.run(milliseconds: 30_000)
    #expect(loop.requests.isEmpty && loop.endings.count == 1)
    #expect(loop.endings[10]?.cause == .expiration)
    #expect(loop.moves.allSatisfy { $0.reason == .paused })
    loop.hold([])
    #expect(loop.run(within: 70_000) { loop.delivered(0..<10, attempts: 1) })
    loop.hold([(Self.key, .paused)])
    loop.produce(20..<30) { $0.campaign = Self.hash }
    loop.run(milliseconds: 5_000)
    loop.hold([(Self.key, .cancelled)])
    #expect(
      loop.run(within: 70_000) { (20..<30).allSatisfy { loop.endings[$0]?.outcome == .cancelled } })
  }

  @Test func `what failed before a cancellation is not sent again`() {
    let loop = ScriptedLoop()
    loop.answer { $0.stream == 1 ? .accepted : .hold }
    loop.produce(0..<10) { $0.campaign = Self.hash }
    #expect(loop.run { loop.requests.count == 10 })
    loop.hold([(Self.key, .cancelled)])
    loop.answer { _ in .accepted }
    loop.answerHeld(.reset)
    #expect(loop.runToEnd(of: 10, within: 920_000))
    #expect(loop.requests.count == 10)
  }

  @Test func `holds are found by app, environment and name, and are bounded`() {
    var holds = CampaignHolds(most: 3)
    func key(_ name: String, _ app: String = "a", _ environment: Environment = .production)
      -> CampaignKey
    {
      CampaignKey(name: name, app: app, environment: environment)!
    }
    #expect(holds.isEmpty && holds.set(key("x"), .paused, at: 5))
    for other in [key("y"), key("x", "b"), key("x", "a", .sandbox)] {
      #expect(holds[CampaignHolds.hash(other)] == nil)
    }
    #expect(holds.set(key("x"), .cancelled, at: 1) && holds.count(.cancelled) == 1)
    #expect(holds.set(key("y"), .paused, at: 3) && holds.set(key("z"), .paused, at: 2))
    // The one that was asked for first is forgotten.
    let isKept = holds.set(key("w"), .paused, at: 4)
    #expect(!isKept)
    #expect(holds[CampaignHolds.hash(key("x"))] == nil && holds.count(.paused) == 3)
    for name in ["y", "z", "w", "w"] {
      let isSet = holds.set(key(name), nil, at: 9)
      #expect(isSet)
    }
    #expect(holds.isEmpty)
  }
}
