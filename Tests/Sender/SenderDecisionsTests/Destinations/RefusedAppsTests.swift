// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import SenderDecisions

@Suite struct RefusedAppsTests {
  @Test func `a moment then a minute doubling to a quarter of an hour`() {
    var apps = RefusedApps()
    var now: UInt64 = 0
    var waits: [UInt64] = []
    for _ in 0..<8 {
      let isNews = apps.refused(7, isMomentary: true, now: now, random: 0)
      #expect(isNews)
      let isNewsAgain = apps.refused(7, isMomentary: true, now: now, random: 0)
      #expect(!isNewsAgain, "it was under way")
      let wait = apps.wait(7, now: now)
      waits.append(wait)
      now += wait
      let probe = apps.wait(7, now: now)
      #expect(probe == 0)
      let next = apps.wait(7, now: now)
      #expect(next > 0, "one push finds out")
    }
    #expect(waits == [500, 30_000, 60_000, 120_000, 240_000, 450_000, 450_000, 450_000])
    apps.served(7)
    #expect(apps.isEmpty)
  }

  @Test func `without anything served the first time is long`() {
    var apps = RefusedApps()
    _ = apps.refused(7, isMomentary: false, now: 0, random: 0)
    let wait = apps.wait(7, now: 0)
    #expect(wait == 30_000)
    apps.removeAll()
    let after = apps.wait(7, now: 0)
    #expect(after == 0)
  }

  @Test func `a lost answer to a probe blocks no app for long`() {
    var apps = RefusedApps()
    _ = apps.refused(7, isMomentary: true, now: 0, random: 0)
    let first = apps.wait(7, now: 500)
    let second = apps.wait(7, now: 501)
    let third = apps.wait(7, now: 10_500)
    #expect(first == 0 && second > 0 && third == 0)
  }

  /// Against a dictionary: whoever is in is found, whoever was removed is not, and a full table forgets the one that
  /// is due first.
  @Test(arguments: 0..<20 as Range<UInt64>)
  func `the table finds the apps that are in it`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var apps = RefusedApps()
    var known: [UInt64: UInt64] = [:]
    for step in 0..<3_000 as Range<UInt64> {
      let app = UInt64(random.below(80)) &* 0x1234_5678_9ABC_DEF1
      if random.oneIn(3) {
        apps.served(app)
        known[app] = nil
      } else if known[app] == nil {
        if known.count == RefusedApps.most { known[known.min { $0.value < $1.value }!.key] = nil }
        let isNews = apps.refused(app, isMomentary: false, now: step, random: 0)
        #expect(isNews)
        known[app] = step + 30_000
      }
      #expect(apps.count == known.count)
    }
    for (app, until) in known {
      let wait = apps.wait(app, now: 3_000)
      #expect(wait == until - 3_000)
    }
  }
}
