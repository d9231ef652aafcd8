// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract

/// How fast a campaign goes, and how long it will take.
@Suite struct CampaignRatesTests {
  private static func progress(
    _ state: CampaignProgress.State = .running, total: Int? = 1_000, addressed: Int = 0
  ) -> CampaignProgress {
    var progress = CampaignProgress()
    (progress.state, progress.total, progress.addressed) = (state, total, addressed)
    return progress
  }

  private static func rates(_ addressed: Double, _ outcomes: Double) -> CampaignRates {
    CampaignRates(at: 0, addressed: addressed, outcomes: outcomes)
  }

  @Test func `a rate is that of the last half minute`() {
    var meter = CampaignMeter(outcomes: 0)
    #expect(meter.rates == nil)
    for second in 0...100 as ClosedRange<Int64> {
      // 100/s, from the 50th second on none.
      let count = Int(min(second, 50)) * 100
      meter.note(addressed: count, outcomes: count / 2, now: second * 1_000)
      meter.note(addressed: 1 << 40, outcomes: 1 << 40, now: second * 1_000 + 999)
      if second == 50 {
        #expect(meter.rates == CampaignRates(at: 50_000, addressed: 100, outcomes: 50))
      }
      if second == 65 {
        #expect(meter.rates == CampaignRates(at: 65_000, addressed: 50, outcomes: 25))
      }
    }
    #expect(meter.rates == CampaignRates(at: 100_000, addressed: 0, outcomes: 0))
  }

  @Test func `outcomes that are counted again are neither a slowdown nor a burst`() {
    var meter = CampaignMeter(outcomes: 0)
    for second in 0...20 as ClosedRange<Int64> {
      meter.note(addressed: 0, outcomes: Int(second) * 10, now: second * 1_000)
    }
    #expect(meter.rates?.outcomes == 10)
    // Another campaign begins: they are counted from the first on.
    for (second, count) in [(21, 0), (22, 90), (23, 230), (24, 240)] as [(Int64, Int)] {
      meter.note(addressed: 0, outcomes: count, now: second * 1_000)
    }
    #expect(meter.rates?.outcomes == 10)
    // So does a new owner.
    var next = CampaignMeter(outcomes: 500)
    for (second, count) in [(0, 0), (1, 400), (2, 510), (3, 530)] as [(Int64, Int)] {
      next.note(addressed: 0, outcomes: count, now: second * 1_000)
    }
    #expect(next.rates?.outcomes == 10)
  }

  @Test func `a clock that goes back begins a new measurement`() {
    var meter = CampaignMeter(outcomes: 0)
    meter.note(addressed: 0, outcomes: 0, now: 1_000_000)
    meter.note(addressed: 10, outcomes: 10, now: 5_000)
    #expect(meter.rates == nil)
    meter.note(addressed: 20, outcomes: 10, now: 6_000)
    #expect(meter.rates == CampaignRates(at: 6_000, addressed: 10, outcomes: 0))
  }

  @Test func `time left is until every device has its outcome`() {
    #expect(Self.rates(0, 10).secondsLeft(Self.progress(addressed: 1_000), outcomes: 905) == 10)
    // No outcome is known yet.
    #expect(Self.rates(50, 0).secondsLeft(Self.progress(addressed: 500), outcomes: 0) == 10)
    // More were addressed than counted, and anyone may have written the rate.
    for rate in [50, 1e-300] {
      #expect(Self.rates(rate, 0).secondsLeft(Self.progress(addressed: 2_000), outcomes: 0) == 1)
    }
    #expect(Self.rates(0, 0).secondsLeft(Self.progress(addressed: 500), outcomes: 100) == nil)
    #expect(Self.rates(9, 9).secondsLeft(Self.progress(total: nil), outcomes: 0) == nil)
    #expect(Self.rates(9, 9).secondsLeft(Self.progress(.scheduled), outcomes: 0) == nil)
    // One that has ended waits for what it has addressed.
    let stopped = Self.progress(.stopped, addressed: 100)
    #expect(Self.rates(0, 1).secondsLeft(stopped, outcomes: 40) == 60)
    #expect(Self.rates(0, 1).secondsLeft(stopped, outcomes: 100) == 0)
    #expect(Self.rates(0, 0.1).secondsLeft(Self.progress(total: 1 << 60), outcomes: 0) == nil)
  }

  @Test func `a measurement that is old says nothing of now`() {
    let rates = CampaignRates(at: 100_000, addressed: 5, outcomes: 6)
    #expect(rates.current(now: 160_000) == rates)
    #expect(rates.current(now: 160_001) == CampaignRates(at: 160_001, addressed: 0, outcomes: 0))
    #expect(rates.isSame(as: CampaignRates(at: 1, addressed: 5, outcomes: 6)))
    #expect(!rates.isSame(as: nil) && Self.rates(0, 0).isSame(as: nil))
  }
}
