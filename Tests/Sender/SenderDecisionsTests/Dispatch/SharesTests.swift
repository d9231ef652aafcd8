// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ConsumerGroup
@testable import Contract
@testable import SenderDecisions

/// What a destination may hold of a loop's slots.
@Suite struct SharesTests {
  private static let wall: Int64 = 1_760_000_000_000

  private func entry(_ app: String) -> ProviderTokenBook.Entry {
    .init(
      credential: app, teamID: "t", keyID: app, scope: .any, apps: [app],
      stamp: .init(issuedAt: Self.wall / 1_000, generation: 1), token: [1])
  }

  /// A loop with one partition of a lane and a provider token for `app`.
  private func loop(_ settings: DispatchSettings) -> Dispatcher {
    var dispatcher = Dispatcher(settings, now: 1_000, wall: Self.wall, seed: 1)
    _ = dispatcher.granted(GrantedPartition(topicKind: .lane(.first), resume: ResumePoint(next: 0)))
    dispatcher.updateTokens([.token(entry("app"))], isComplete: true)
    dispatcher.applyTokens()
    return dispatcher
  }

  private func take(_ device: UInt64, _ offset: Int64, _ dispatcher: inout Dispatcher) -> UInt32 {
    let facts = PushFacts(
      dedupKey: NotificationID(high: 0, low: UInt64(offset)), app: AppHash.of("app".utf8.span),
      device: device, lane: .first, created: Self.wall, expiresAt: .max)
    _ = dispatcher.admit(offset, from: 0)
    return dispatcher.accept(facts, offset: offset, from: 0, written: Self.wall)
  }

  @Test
  func
    `what waits for its device's turn counts for its destination, so an app that hangs has its share only`()
  {
    var settings = DispatchSettings()
    settings.isOrdered = true
    var dispatcher = loop(settings)
    for number in 0..<6 { _ = take(UInt64(number % 2), Int64(number), &dispatcher) }
    #expect(dispatcher.work.shares.fairness.taken(by: 1) == 6)
    dispatcher.drain(until: 2_000)
    #expect(dispatcher.work.shares.fairness.taken(by: 1) == 0 && dispatcher.work.pushes.count == 0)
  }

  @Test func `a destination that is stuck gives up what it holds over its share`() {
    var settings = DispatchSettings()
    settings.maxInFlight = 30
    var dispatcher = loop(settings)
    for number in 0..<25 { _ = take(UInt64(number), Int64(number), &dispatcher) }
    while dispatcher.nextAction() != nil {}
    // The other destination that is known holds nothing: it might work.
    dispatcher.updateTokens([.token(entry("second"))], isComplete: true)
    dispatcher.applyTokens()
    for now in stride(from: 1_000 as UInt64, to: 3_200, by: 100) {
      dispatcher.beginTurn(now: now, wall: Self.wall)
      dispatcher.beginIntake()
    }
    var moved = 0
    while let action = dispatcher.nextAction() {
      if case .park(_, .seconds5, .share) = action { moved += 1 }
    }
    #expect(moved == 5)
  }
}
