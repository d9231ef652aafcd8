// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions
import Telemetry
import Testing

@testable import Sender

/// What the pages say of apps and credentials that APNs refuses.
@Suite struct RefusalsTests {
  private static let response = GatewayResponse(status: 403, reason: .invalidProviderToken)

  /// A destination that refuses these apps, after it has served another one.
  private func health(refusing apps: [String]) -> DestinationHealth {
    var health = DestinationHealth()
    for app in apps {
      _ = health.answered(
        .init(
          Self.response, app: AppHash.of(app.utf8.span), sentAt: 0,
          on: .init(
            at: PeerAddress(bytes: [127, 0, 0, 1], port: 443)!, hasAccepted: true, firstPushAt: 0,
            hasNewestToken: true)), now: 1_000, random: 0)
    }
    return health
  }

  @Test func `a refusal keeps its first time and its newest reason, until the app is served`() {
    var health = health(refusing: ["chat", "news"])
    var refusals = Refusals()
    refusals.note("chat", "InvalidProviderToken", now: 1_000)
    refusals.note("news", "Forbidden", now: 2_000)
    refusals.note("chat", "Forbidden", now: 61_000)
    refusals.prune(health, now: 62_000)
    #expect(
      refusals.all == [
        .init(app: "chat", reason: "Forbidden", since: 1_000, last: 61_000),
        .init(app: "news", reason: "Forbidden", since: 2_000, last: 2_000),
      ])
    health.served(app: AppHash.of("chat".utf8.span), sentAt: 0)
    refusals.prune(health, now: 63_000)
    #expect(refusals.all.map(\.app) == ["news"])
  }

  @Test
  func `an app that nobody sends to any more is forgotten, and the credential once it is well`() {
    let health = health(refusing: ["typo"])
    var refusals = Refusals()
    refusals.note("typo", "InvalidProviderToken", now: 1_000)
    refusals.prune(health, now: 1_000 + Refusals.memory - 1)
    #expect(refusals.all.count == 1)
    refusals.prune(health, now: 1_000 + Refusals.memory)
    #expect(refusals.all.isEmpty)
    refusals.note(nil, "ExpiredProviderToken", now: 5_000)
    refusals.prune(DestinationHealth(), now: 5_000)
    #expect(refusals.all.isEmpty, "a credential whose breaker is closed is not refused")
  }

  @Test func `more apps than breakers make the list no longer`() {
    var refusals = Refusals()
    for number in 0..<1_000 { refusals.note("app\(number)", "Forbidden", now: UInt64(number)) }
    #expect(refusals.all.count == RefusedApps.most + 1)
    #expect(refusals.all.last?.app == "app999")
  }

  private func status(apps: Range<Int>) -> LoopStatus {
    var status = LoopStatus()
    let refusals = apps.map {
      LoopStatus.Refusal(app: "app\($0)", reason: "Forbidden", age: UInt64($0) * 1_000)
    }
    status.destinations = [
      LoopStatus.Destination(
        index: 3, credential: "T/K/any", environment: .production, hasToken: true, trouble: .app,
        waiting: 9, held: 5, open: 0, accepted: 1, refused: 1, retriesLeft: 10,
        refusals: refusals + [.init(app: nil, reason: "ExpiredProviderToken", age: 7_000)])
    ]
    return status
  }

  @Test func `series name app, credential, environment and reason, of so many apps at most`() {
    var status = status(apps: 0..<60)
    status.nameApps(since: LoopStatus())
    var later = self.status(apps: 60..<120)
    later.nameApps(since: status)
    let samples = later.samples.filter { $0.metric == SenderMetrics.refusedSeconds.metric }
    let first = samples.first { $0.labels == ["app60", "T/K/any", "production", "Forbidden"] }
    #expect(first?.value == .thousandths(60_000))
    #expect(Set(samples.map { $0.labels[0] }).count == 42, "40 more names, other, the credential")
    #expect(samples.last?.labels == ["", "T/K/any", "production", "ExpiredProviderToken"])
    let held = later.samples.filter { $0.metric == SenderMetrics.held.metric }
    #expect(held == [MetricSample(SenderMetrics.held, ["T/K/any", "production", "app"], 5)])
  }

  @Test func `a destination that works has no such series`() {
    var status = status(apps: 0..<1)
    let one = status.destinations[0]
    status.destinations = [
      LoopStatus.Destination(
        index: 3, credential: one.credential, environment: .production, hasToken: true,
        trouble: nil, waiting: 9, held: 9, open: 0, accepted: 1, refused: 1, retriesLeft: 10,
        refusals: [])
    ]
    #expect(!status.samples.contains { $0.metric == SenderMetrics.refusedSeconds.metric })
    #expect(!status.samples.contains { $0.metric == SenderMetrics.held.metric })
  }
}
