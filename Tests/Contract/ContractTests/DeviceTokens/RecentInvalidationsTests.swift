// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@Suite struct RecentInvalidationsTests {
  @Test
  func `what was requested before the invalid push was sent is of no use, what came later is`() {
    var recent = RecentInvalidations(capacity: 64)
    #expect(recent.isEmpty(now: 5) && !recent.covers(7, created: 0, now: 5))
    recent.note(7, sentAt: 10_000, now: 5)
    #expect(!recent.isEmpty(now: 6))
    #expect(recent.covers(7, created: 0, now: 6) && recent.covers(7, created: 9_000, now: 6))
    #expect(!recent.covers(7, created: 9_001, now: 6), "a clock may be behind by a second")
    #expect(!recent.covers(7, created: 20_000, now: 6) && !recent.covers(8, created: 0, now: 6))
  }

  @Test func `a later answer counts, an earlier one does not take it back`() {
    var recent = RecentInvalidations(capacity: 64)
    recent.note(7, sentAt: 10_000, now: 5)
    recent.note(7, sentAt: 30_000, now: 6)
    recent.note(7, sentAt: 20_000, now: 7)
    #expect(recent.covers(7, created: 29_000, now: 8))
  }

  @Test func `an accepted push lifts it, and so does time`() {
    var recent = RecentInvalidations(capacity: 64)
    recent.note(7, sentAt: 10_000, now: 5)
    recent.note(8, sentAt: 10_000, now: 5)
    recent.forget(7, now: 6)
    #expect(!recent.covers(7, created: 0, now: 6) && recent.covers(8, created: 0, now: 6))
    let end = 5 + RecentInvalidations.memory
    #expect(recent.covers(8, created: 0, now: end - 1) && !recent.covers(8, created: 0, now: end))
    #expect(recent.isEmpty(now: end))
    recent.note(8, sentAt: 5_000, now: end)
    #expect(!recent.covers(8, created: 9_000, now: end), "what it was before is forgotten")
  }

  /// Against a table without a bound: it never says more than that, and of few devices it says the same.
  @Test(arguments: 0..<40 as Range<UInt64>)
  func `the table never covers a token that was not reported, whatever it evicts`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var recent = RecentInvalidations(capacity: 32)
    var all: [UInt64: Int64] = [:]
    let devices = (0..<(seed % 2 == 0 ? 200 : 4)).map { _ in random.next() }
    var now: UInt64 = 1
    for _ in 0..<600 {
      now += UInt64(random.below(5))
      let device = devices[random.below(devices.count)]
      let time = Int64(random.below(100_000))
      switch random.below(4) {
      case 0:
        recent.note(device, sentAt: time, now: now)
        all[device] = max(time, all[device] ?? .min)
      case 1:
        recent.forget(device, now: now)
        all[device] = nil
      default:
        let expected = all[device].map { time + RecentInvalidations.tolerance <= $0 } ?? false
        let covers = recent.covers(device, created: time, now: now)
        if devices.count == 4 { #expect(covers == expected, "seed \(seed)") }
        if covers { #expect(expected, "seed \(seed)") }
      }
    }
  }
}
