// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@testable import SenderDecisions

/// `DevicePaces` alone: `Dispatch/DevicePaceTests` shows it with pushes.
@Suite struct DevicePacesTests {
  private let rate = PaceRate("2/h")!

  private func paces(_ rates: [UInt64: PaceRate], now: UInt64 = 5_500) -> DevicePaces {
    var paces = DevicePaces()
    paces.update(rates, now: now)
    return paces
  }

  @Test func `each rule is found by its hash`() {
    let rates = Dictionary(
      uniqueKeysWithValues: (0..<99).map {
        (UInt64($0) &* 7_919, PaceRate(1 + $0 % 8, per: .hour)!)
      })
    let paces = paces(rates)
    for (hash, rate) in rates { #expect(paces.rate(of: hash) == rate) }
    #expect(paces.rate(of: 1) == nil && DevicePaces().rate(of: 0) == nil)
  }

  @Test func `the third push of an hour waits until an hour and a minute after the first`() {
    var paces = paces([1: rate])
    #expect(paces.wait(9, rate, now: 6_000) == 0)
    paces.note(9, after: 0, now: 6_000)
    #expect(paces.wait(9, rate, now: 7_000) == 0 && paces.wait(8, rate, now: 7_000) == 0)
    paces.note(9, after: 0, now: 7_000)
    let wait = paces.wait(9, rate, now: 8_000)
    #expect((3_658_000...3_660_000).contains(wait), "\(wait)")
    // A time that was given counts as a push then.
    paces.note(9, after: wait, now: 8_000)
    let next = paces.wait(9, rate, now: 8_000)
    #expect((3_659_000...3_661_000).contains(next), "\(next)")
    paces.note(9, after: next, now: 8_000)
    #expect(paces.wait(9, rate, now: 8_000) >= wait + 3_659_000)
  }

  @Test(arguments: [1, 3, 8])
  func `no unit has more pushes than the pace, whenever they come`(count: Int) {
    let rate = PaceRate(count, per: .minute)!
    var paces = paces([1: rate])
    var random = SeededGenerator(seed: UInt64(count))
    var sent: [UInt64] = []
    var now: UInt64 = 6_000
    for _ in 0..<2_000 {
      now += random.next() % 9_000
      let wait = paces.wait(5, rate, now: now)
      // Some are never sent.
      guard wait < 600_000 else { continue }
      paces.note(5, after: wait, now: now)
      sent.append(now + wait)
    }
    sent.sort()
    for index in count..<sent.count { #expect(sent[index] - sent[index - count] >= 65_000) }
  }

  @Test func `after a change of the pace the times of before count`() {
    var paces = paces([1: rate])
    for second in 0..<2 { paces.note(3, after: 0, now: 6_000 + UInt64(second) * 1_000) }
    let slow = PaceRate("1/d")!
    paces.update([1: slow], now: 10_000)
    paces.note(3, after: paces.wait(3, slow, now: 10_000), now: 10_000)
    let fast = PaceRate("4/m")!
    paces.update([1: fast], now: 20_000)
    #expect(paces.wait(3, fast, now: 20_000) == 0)
    paces.note(3, after: 0, now: 20_000)
    #expect(paces.wait(3, fast, now: 20_000) > 0)
    paces.update([:], now: 20_000)
    paces.update([1: fast], now: 20_000)
    #expect(paces.wait(3, fast, now: 20_000) == 0)
  }

  @Test func `the table grows, and forgets the device of the longest ago when it is full`() {
    let count: UInt64 = 1 << 14
    var paces = DevicePaces(devices: Int(count))
    paces.update([1: rate], now: 5_500)
    for device in 1...count / 4 { paces.note(device, after: 0, now: 6_000) }
    #expect(paces.forgotten == 0)
    let one = PaceRate("1/h")!
    #expect((1...count / 4).allSatisfy { paces.wait($0, one, now: 7_000) > 0 })
    for device in 1...2 * count { paces.note(device, after: 0, now: 20_000) }
    #expect(paces.forgotten >= Int(count))
    // What does not count any more is nothing to be forgotten.
    let before = paces.forgotten
    for device in 3 * count..<3 * count + 1_000 { paces.note(device, after: 0, now: 9_000_000) }
    #expect(paces.forgotten == before)
  }

  @Test func `no tier makes a push late by more than the slack, and the longest one is taken`() {
    for unit in [PaceRate.Unit.minute, .hour, .day] {
      let rate = PaceRate(1, per: unit)!
      for wait in stride(from: Int64(1), through: 100_000_000, by: 977) {
        let tier = DevicePaces.tier(wait, rate)
        #expect(tier.delay <= wait + DevicePaces.slack(rate) * 1_000)
        #expect(tier == .longest || tier.next.delay > wait + DevicePaces.slack(rate) * 1_000)
      }
    }
  }
}
