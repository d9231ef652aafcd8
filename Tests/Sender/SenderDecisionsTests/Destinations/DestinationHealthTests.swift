// SPDX-License-Identifier: Apache-2.0

import Contract
import TestSupport
import Testing

@testable import SenderDecisions

/// The health of a destination, with its parts `ConnectBackoff`, `DestinationEvidence` and `RefusingAddresses`.
@Suite struct DestinationHealthTests {
  @Test
  func `with other roots the next connect need not wait, and a refused credential still does`() {
    var health = DestinationHealth()
    for _ in 0..<6 { health.connectFailed(now: 0, random: 0) }
    #expect(health.mayConnect(now: 20_000) == .none)
    health.trustRenewed()
    #expect(health.mayConnect(now: 20_000) == .all)
    let address = PeerAddress(bytes: [127, 0, 0, 1], port: 443)!
    let place = DestinationHealth.AnsweringConnection(
      at: address, hasAccepted: true, firstPushAt: 0, hasNewestToken: true)
    _ = health.goAway(.badCertificate, on: place, now: 20_000, random: 0)
    health.trustRenewed()
    #expect(health.mayConnect(now: 20_001) == .none)
  }

  @Test func `connects that fail hold nothing back while an earlier connection serves`() {
    var health = DestinationHealth()
    let end = DestinationHealth.ConnectionEnd(hasAccepted: false, lived: 10, isAddressAside: false)
    health.connectionEnded(end, now: 0, random: 0)
    #expect(health.trouble == .connects)
    health.served(app: 1, sentAt: 10)
    #expect(health.trouble == nil)
    #expect(health.mayConnect(now: 60_000) == .oneAtATime, "connects are still on trial")
    health.connectionEnded(end, now: 60_000, random: 0)
    #expect(health.trouble == .connects, "nothing was served since")
    health.served(app: 1, sentAt: 60_010)
    health.connectFailed(now: 120_000, random: 0)
    #expect(health.trouble == .connects)
  }

  @Test func `without anything to send a gateway is well when it takes connections again`() {
    var health = DestinationHealth()
    for attempt in 0..<3 as Range<UInt64> {
      health.connectFailed(now: attempt * 3_000, random: 0)
      health.lost(isLast: true, now: attempt * 3_000, random: 0)
      #expect(health.idleTrouble == .connects)
    }
    health.connected()
    #expect(health.idleTrouble == .gateway, "TLS alone is no gateway")
    health.reached()
    #expect(health.idleTrouble == nil)
    #expect(health.trouble == .gateway, "a push has to show it")
    health.failed(now: 10_000, random: 0)
    #expect(health.idleTrouble == .gateway)
    health.reached()
    let end = DestinationHealth.ConnectionEnd(hasAccepted: false, lived: 10, isAddressAside: false)
    health.connectionEnded(end, now: 11_000, random: 0)
    #expect(health.idleTrouble != nil)
  }

  @Test func `a gateway that says why it refuses the credential has not failed`() {
    var health = DestinationHealth()
    health.failed(now: 0, random: 0)
    #expect(health.trouble == .gateway)
    let place = DestinationHealth.AnsweringConnection(
      at: PeerAddress(bytes: [127, 0, 0, 1], port: 443)!, hasAccepted: false, firstPushAt: 0,
      hasNewestToken: true)
    _ = health.goAway(.badCertificate, on: place, now: 1, random: 0)
    #expect(health.trouble == .credential)
    for attempt in 1...20 as ClosedRange<UInt64> {
      health.failed(now: 60_000 + attempt * 1_000, random: 0)
    }
    #expect(health.trouble == .gateway, "nobody answers any more")
  }

  @Test func `a gateway fails until it serves again, and not until all may be sent`() {
    var health = DestinationHealth()
    var times = (0..<64 as Range<UInt64>).map { $0 * 10 }.makeIterator()
    while health.watch.state == .closed, let now = times.next() {
      health.watch.failed(now: now, random: 0)
    }
    #expect(health.trouble == .gateway)
    _ = health.allowance(capacity: 2_000, now: 60_000)
    #expect(health.watch.state == .probing)
    #expect(health.trouble == .gateway)
    health.served(app: 1, sentAt: 60_000)
    #expect(health.watch.state != .closed, "few may be open")
    #expect(health.trouble == nil)
  }

  @Test
  func
    `the connection of an app's refusal is kept if it serves others, or may, and is young enough`()
  {
    let address = PeerAddress(bytes: [127, 0, 0, 1], port: 443)!
    func reaction(
      to app: UInt64, _ health: inout DestinationHealth, hasAccepted: Bool = false,
      firstPushAt: UInt64 = 90_000
    ) -> ConnectionAction {
      let place = DestinationHealth.AnsweringConnection(
        at: address, hasAccepted: hasAccepted, firstPushAt: firstPushAt, hasNewestToken: true)
      let answer = DestinationHealth.Answer(
        GatewayResponse(status: 403, reason: .invalidProviderToken), app: app, sentAt: 0, on: place)
      return health.answered(answer, now: 100_000, random: 0).connection
    }
    var unknown = DestinationHealth()
    #expect(reaction(to: 1, &unknown) == .drain, "nothing was served")
    #expect(reaction(to: 1, &unknown, hasAccepted: true) == .keep)
    var alone = DestinationHealth()
    alone.connectionAccepted(app: 1, at: address)
    #expect(reaction(to: 1, &alone) == .drain, "no other app was served")
    var served = DestinationHealth()
    served.connectionAccepted(app: 2, at: address)
    #expect(reaction(to: 1, &served) == .keep)
    #expect(reaction(to: 1, &served, firstPushAt: 30_000) == .drain)
    #expect(reaction(to: 1, &served, hasAccepted: true, firstPushAt: 30_000) == .drain)
    for app in 3...4 as ClosedRange<UInt64> { #expect(reaction(to: app, &served) == .keep) }
    #expect(reaction(to: 5, &served) == .drain, "so many are refused that it is the credential")
  }

  @Test
  func
    `a newer token is asked for once in a while, and at once when the newer one is refused, too`()
  {
    var health = DestinationHealth()
    let times = (0..<20 as Range<UInt64>).map { $0 * 500 }
    let asked = times.filter { health.asksForToken(now: $0) }
    #expect(asked == [0, 5_000])
    health.renewed()
    let asksAgain = health.asksForToken(now: 9_501)
    #expect(asksAgain)
  }
}
