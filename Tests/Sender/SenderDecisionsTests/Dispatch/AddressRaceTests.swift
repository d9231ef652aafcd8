// SPDX-License-Identifier: Apache-2.0

import Contract
import SenderDecisions
import Testing

/// A destination with one, two, seven or twelve addresses, in virtual time: what some of them do to a connect costs the
/// others little, and what all of them do makes no storm. (`ConnectAttempts`)
@Suite struct AddressRaceTests {
  private static let minute: UInt64 = 60_000
  private static let counts = [1, 2, 7, 12]
  /// Ways not to get a connection.
  private static let failures: [ConnectDeed] = [
    .unreachable, .refused, .silence, .noHello, .noSettings,
  ]

  private static func model(
    _ addresses: Int, seed: UInt64 = 1, step: UInt64 = 10
  ) -> ScriptedDestination {
    ScriptedDestination(seed: seed, addresses: addresses, step: step)
  }

  @Test(arguments: counts, failures)
  func `one good address, wherever it stands among the dead: the first push is there within 3 s`(
    addresses: Int, failure: ConnectDeed
  ) {
    for good in 0..<addresses {
      let model = Self.model(addresses)
      model.reach = { address, _ in address == good ? .served : failure }
      let begin = model.now
      model.run(milliseconds: 15_000)
      // The last of twelve is tried after 2.75 s; answers take 0.4 s.
      let limit: UInt64 = addresses > 10 ? 3_300 : 2_500
      #expect((model.firstDelivery ?? .max) - begin <= limit, "\(failure), \(good)")
      #expect(model.open == 2 && model.held == 2, "\(failure), \(good): only those are left")
      let dead = Dictionary(grouping: model.tried.filter { $0 != good }, by: \.self)
      #expect(dead.values.allSatisfy { $0.count == 1 }, "\(failure), \(good): \(model.tried)")
      #expect(model.trouble == nil && model.parked.isEmpty && model.mostCounted <= 1)
    }
  }

  @Test(arguments: failures)
  func `ten without a route and two good ones: also after every GOAWAY`(failure: ConnectDeed) {
    let model = Self.model(12)
    model.reach = { address, _ in address < 10 ? failure : .served }
    model.run(milliseconds: 15_000)
    for reason in [nil, Reason.shutdown, nil, .shutdown] {
      // Longer than any of them is put aside for at first.
      model.run(milliseconds: 30_000)
      let before = model.delivered[1, default: 0]
      model.leave(reason)
      model.run(milliseconds: 3_400)
      #expect(model.delivered[1, default: 0] > before, "\(failure), \(String(describing: reason))")
    }
  }

  @Test(arguments: counts, failures)
  func `all addresses fail the same way for five minutes: few connects, and all is well afterwards`(
    addresses: Int, failure: ConnectDeed
  ) {
    for seed in 1...2 as ClosedRange<UInt64> {
      let model = Self.model(addresses, seed: seed, step: 100)
      model.reach = { _, _ in failure }
      model.run(milliseconds: 5 * Self.minute)
      let most = model.mostConnects(within: 30_000)
      #expect(model.mostConnectsToOne(within: 30_000) <= 5, "\(failure): \(model.connects)")
      #expect(most <= (addresses == 1 ? 5 : addresses + 8), "\(failure): \(most) of \(addresses)")
      // TLS is up: the gateway can be reached, and fails.
      let isUp = failure == .noSettings && model.trouble == .gateway
      #expect(model.deadLettered == 0 && (model.trouble == .connects || isUp))
      model.reach = { _, _ in .served }
      model.run(milliseconds: 75_000)
      #expect(model.delivered[1, default: 0] > 300, "\(failure): it does not come back")
    }
  }

  /// A gateway that speaks and turns everybody away has said so for all of its addresses.
  @Test(arguments: counts, [Reason.shutdown, .badCertificate, nil])
  func `every address turns connections away: at most five connects in 30 s in all`(
    addresses: Int, reason: Reason?
  ) {
    let model = Self.model(addresses, step: 100)
    model.reach = { _, _ in .goAway(reason) }
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.mostConnects(within: 30_000) <= 5, "\(model.connects)")
  }

  /// Half of the addresses are dead, and the others turn everybody away.
  @Test
  func `dead addresses beside those that turn away: the dead ones are not tried again and again`() {
    let model = Self.model(12, step: 100)
    model.reach = { address, _ in address % 2 == 0 ? .refused : .goAway(.shutdown) }
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.mostConnects(within: 30_000) <= 20, "\(model.connects)")
    #expect(model.mostConnectsToOne(within: 30_000) <= 5)
  }

  @Test(arguments: [2, 7, 12])
  func `after an outage of all only one comes back: it is found`(addresses: Int) {
    let model = Self.model(addresses, step: 100)
    model.reach = { _, _ in .refused }
    model.run(milliseconds: 10 * Self.minute)
    model.reach = { address, _ in address == addresses - 1 ? .served : .refused }
    model.run(milliseconds: 7 * Self.minute)
    #expect(model.delivered[1, default: 0] > 0)
  }

  /// Each stage takes nearly as long as an attempt may take without coming nearer.
  @Test(arguments: [2, 7, 12])
  func `a gateway that is far away is connected to as often as one that is near`(addresses: Int) {
    let model = Self.model(addresses)
    model.reach = { _, _ in .slow(240) }
    model.run(milliseconds: 5_000)
    #expect(model.connects.count == 2, "the minimum: \(model.connects)")
    #expect(model.open == 2)
  }

  @Test func `an attempt that was about to be ready is closed when another one is, and not blamed`()
  {
    let model = Self.model(2)
    model.reach = { address, _ in address == 0 ? .slow(260) : .slow(100) }
    model.supply = 1
    model.run(milliseconds: 1_000)
    #expect(model.dispatcher.counts[.addressesAside] == 0)
    model.reach = { _, _ in .served }
    model.supply = .max
    model.run(milliseconds: 1_000)
    #expect(model.open == 2 && model.held == 2)
  }

  /// A name server that names others each time.
  @Test func `ever new addresses that fail: few connects`() {
    let model = Self.model(1, step: 100)
    model.named = { now in (0..<8).map { (Int(now / 10) + $0) % 250 } }
    model.reach = { _, _ in .refused }
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.mostConnects(within: 30_000) <= 16, "\(model.connects)")
  }

  @Test func `a name without an address: few look-ups, and it is in trouble by its connects`() {
    let model = Self.model(0, step: 100)
    model.run(milliseconds: 10 * Self.minute)
    #expect(model.lookUpCount <= 25)
    #expect(model.connects.isEmpty && model.trouble == .connects)
  }

  @Test func `more addresses than a search may try: the rest is tried by the next ones`() {
    let model = Self.model(40, step: 100)
    model.reach = { address, _ in address == 39 ? .served : .refused }
    model.run(milliseconds: 15 * Self.minute)
    #expect(model.delivered[1, default: 0] > 0)
    #expect(model.mostConnects(within: 30_000) <= AddressRace.mostAttempts + 8)
  }
}
