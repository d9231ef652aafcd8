// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing

/// A gateway that refuses a part of what a destination sends: one app, or everything at one address. The rest goes on.
@Suite struct DestinationRefusalTests {
  private static let minute: UInt64 = 60_000

  @Test(
    arguments: [Reason.invalidProviderToken, .forbidden, .badEnvironmentKeyIdInToken],
    [2, 10])
  func
    `an app that its key may not serve: the others go on, nothing is sent twice, and it is asked once a minute at most`(
      reason: Reason, apps: Int
    )
  {
    let good = ScriptedDestination()
    good.app = { $0 % apps + 1 }
    good.run(milliseconds: 3 * Self.minute)
    let model = ScriptedDestination()
    model.app = good.app
    model.push = { app, _, _ in app == 1 ? .reason(reason) : .accepted }
    model.run(milliseconds: 3 * Self.minute)
    let others = model.delivered.values.reduce(0, +)
    // In the first second, and while one push finds out, nothing but the refused app may be in line.
    #expect(others > good.delivered.values.reduce(0, +) * (apps - 1) / apps * 9 / 10)
    #expect(model.delivered[1] == nil)
    // What was under way at first, and one push each time.
    #expect(model.sends[1, default: 0] <= 30, "\(model.sends[1, default: 0]) sends")
    #expect(model.sentAgain <= model.sends[1, default: 0])
    #expect(model.connects.count <= 12, "\(model.connects)")
    #expect(model.deadLettered == 0)
    // The key is corrected without notice.
    model.push = { _, _, _ in .accepted }
    model.run(milliseconds: 5 * Self.minute)
    #expect(model.delivered[1, default: 0] > 0)
  }

  /// The first push on a connection that replaces an old one may be the refused app's.
  @Test(arguments: [2, 3, 10], [1, 2, 4])
  func `an app is refused after minutes of service: the others wait for no second connect`(
    apps: Int, arriving: Int
  ) {
    for phase in 0..<5 as Range<UInt64> {
      let model = ScriptedDestination(seed: phase, pool: .init(minimum: 1))
      model.app = { $0 % apps + 1 }
      (model.supply, model.arriving) = (0, arriving)
      model.run(milliseconds: 2 * Self.minute + phase * 200)
      model.push = { app, _, _ in app == 1 ? .reason(.invalidProviderToken) : .accepted }
      let wait = model.longestWait(within: 2 * Self.minute, butOf: 1)
      #expect(wait <= 1_500, "phase \(phase): \(model.connects)")
    }
  }

  /// What may come from one of several addresses because it takes the credential for another one.
  private static let refusingTheCredential: [Reason] = [
    .invalidProviderToken, .expiredProviderToken, .missingProviderToken, .forbidden,
    .badCertificate, .badCertificateEnvironment, .badEnvironmentKeyIdInToken,
  ]

  @Test(arguments: refusingTheCredential, 2...4)
  func
    `one address refuses what the others accept: it is left, and nothing waits or is rejected for it`(
      reason: Reason, addresses: Int
    )
  {
    for refusing in 1..<addresses {
      let good = ScriptedDestination()
      good.named = { _ in Array(0..<addresses) }
      good.run(milliseconds: Self.minute)
      let model = ScriptedDestination()
      model.named = { _ in Array(0..<addresses) }
      model.pushAt = { address, _ in address <= refusing ? .reason(reason) : .accepted }
      model.run(milliseconds: Self.minute)
      let delivered = model.delivered[1, default: 0]
      #expect(
        delivered > good.delivered[1, default: 0] * 8 / 10, "\(reason), \(refusing) of \(addresses)"
      )
      #expect(model.rejected.isEmpty && model.parked.isEmpty && model.deadLettered == 0)
      #expect((1...refusing).allSatisfy { model.sendsTo[$0, default: 0] <= 8 }, "\(model.sendsTo)")
    }
  }

  @Test(arguments: refusingTheCredential, [1, 2])
  func `an address that has served begins to refuse: the pushes go on at the other one`(
    reason: Reason, apps: Int
  ) {
    let model = ScriptedDestination(pool: .init(minimum: 2, starvation: 3_600_000))
    model.named = { _ in [0, 1] }
    model.app = { $0 % apps + 1 }
    model.run(milliseconds: 10_000)
    #expect(model.sendsTo.count == 2)
    let before = model.delivered.values.reduce(0, +)
    model.pushAt = { address, _ in address == 1 ? .reason(reason) : .accepted }
    model.run(milliseconds: 20_000)
    #expect(model.delivered.values.reduce(0, +) - before > 150, "\(reason)")
    #expect(model.rejected.isEmpty && model.parked.isEmpty && model.deadLettered == 0)
  }

  @Test(arguments: [Reason.invalidProviderToken, .forbidden, .missingProviderToken])
  func `an app that every address refuses: the others go on, and it is asked as with one address`(
    reason: Reason
  ) {
    let model = ScriptedDestination()
    model.named = { _ in Array(0..<6) }
    model.app = { $0 % 3 + 1 }
    model.pushAt = { _, app in app == 1 ? .reason(reason) : .accepted }
    model.run(milliseconds: 3 * Self.minute)
    #expect(model.delivered[1] == nil)
    #expect(model.delivered[2, default: 0] > 400 && model.delivered[3, default: 0] > 400)
    #expect(model.sends[1, default: 0] <= 40, "\(model.sends[1, default: 0]) sends")
    #expect(model.connects.count <= 16, "\(model.connects)")
  }

  @Test func `the refused app comes first: the credential is not judged by it`() {
    let model = ScriptedDestination()
    model.app = { $0 == 1 ? 2 : 1 }
    model.push = { app, _, _ in app == 2 ? .reason(.invalidProviderToken) : .accepted }
    model.run(milliseconds: 30_000)
    #expect(model.delivered[1, default: 0] > 250)
  }

  @Test func `one push in a hundred is refused, whatever its app: nothing stands still`() {
    let good = ScriptedDestination()
    good.run(milliseconds: Self.minute)
    let model = ScriptedDestination()
    model.push = { _, _, push in push % 100 == 50 ? .reason(.invalidProviderToken) : .accepted }
    model.run(milliseconds: Self.minute)
    #expect(model.delivered[1, default: 0] > good.delivered[1, default: 0] / 3)
    #expect(model.mostConnects(within: 30_000) <= 5)
  }

  @Test func `a revoked key of a thousand apps is not asked for each of them`() {
    let model = ScriptedDestination()
    model.app = { $0 % 1_000 + 1 }
    model.run(milliseconds: 10_000)
    model.push = { _, _, _ in .reason(.invalidProviderToken) }
    model.run(milliseconds: 1_000)
    let underWay = model.sends.values.reduce(0, +)
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.sends.values.reduce(0, +) - underWay <= 40)
  }
}
