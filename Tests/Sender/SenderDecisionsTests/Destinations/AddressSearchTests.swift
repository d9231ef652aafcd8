// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import SenderDecisions

/// One search through a gateway's addresses.
@Suite struct AddressSearchTests {
  private func address(_ number: UInt8) -> PeerAddress {
    PeerAddress(bytes: [10, 0, 0, number], port: 443)!
  }

  @Test func `each address once, in their order`() {
    var race = AddressRace(number: 1, (1...3).map(address))
    #expect((1...3).map { _ in race.next(now: 0) } == (1...3).map(address))
    #expect(race.next(now: 0) == nil && !race.isOver)
    for _ in 1...3 {
      #expect(!race.isOver)
      race.ended()
    }
    #expect(race.isOver)
  }

  @Test func `the next one joins when nothing has come nearer for a quarter of a second`() {
    var race = AddressRace(number: 1, (1...3).map(address))
    _ = race.next(now: 1_000)
    #expect(!race.wantsNext(now: 1_249) && race.wantsNext(now: 1_250))
    race.advanced(now: 1_200)
    #expect(!race.wantsNext(now: 1_449) && race.wantsNext(now: 1_450))
    _ = race.next(now: 1_450)
    #expect(!race.wantsNext(now: 1_699) && race.wantsNext(now: 1_700))
    _ = race.next(now: 1_700)
    #expect(!race.wantsNext(now: 9_000), "there is none")
  }

  @Test func `one that was turned away is the last`() {
    var race = AddressRace(number: 1, (1...3).map(address))
    _ = race.next(now: 0)
    _ = race.next(now: 250)
    race.ended(isLast: true)
    #expect(race.next(now: 300) == nil && !race.isOver)
    race.ended()
    #expect(race.isOver)
  }

  @Test func `without an address it is over at once`() {
    var race = AddressRace(number: 1, [])
    #expect(race.isOver && race.next(now: 0) == nil)
  }

  @Test func `few addresses are tried while the destination is failing`() {
    var health = DestinationHealth()
    health.addresses.resolved((1...40).map(address))
    #expect(health.route(inUse: [], now: 0).count == AddressRace.mostAttempts)
    health.connectFailed(now: 0, random: 0)
    #expect(health.route(inUse: [], now: 10_000).count == AddressRace.mostProbes)
    health.connectionAccepted(app: 1, at: address(1))
    #expect(health.route(inUse: [], now: 20_000).count == AddressRace.mostAttempts)
  }
}
