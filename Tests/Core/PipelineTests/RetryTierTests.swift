// SPDX-License-Identifier: Apache-2.0
import Pipeline
import Testing

@Suite("Times that anybody may have written")
struct OutsideTimeTests {
  private static let now: Int64 = 1_795_224_000_000

  @Test("a retry record is due after its tier's delay", arguments: RetryTier.allCases)
  func due(_ tier: RetryTier) {
    let written = Self.now - 3_000
    #expect(tier.due(writtenAt: written, now: Self.now) == written + tier.delay)
    #expect(tier.due(writtenAt: Self.now, now: Self.now) == Self.now + tier.delay)
  }

  @Test(
    "a retry record from the future holds its partition up for its tier's delay, and no longer",
    arguments: [Self.now + 1, Self.now * 1_000, .max - 1, .max])
  func future(_ written: Int64) {
    for tier in RetryTier.allCases {
      #expect(tier.due(writtenAt: written, now: Self.now) == Self.now + tier.delay)
    }
  }

  @Test(
    "a retry record without a time, or with one before all others, is due", arguments: [-1, .min])
  func past(_ written: Int64) {
    for tier in RetryTier.allCases {
      #expect(tier.due(writtenAt: written, now: Self.now) < Self.now)
    }
  }

  @Test("a request is as old as its record, and never from the future")
  func created() {
    func created(_ time: Int64) -> Int64 {
      RequestRules.created(recordTime: time, now: Self.now)
    }
    #expect(created(1) == 1)
    #expect(created(Self.now) == Self.now)
    // No time, a clock that is ahead, microseconds, nanoseconds.
    for time in [-1, 0, Self.now + 1, Self.now * 1_000, Self.now * 1_000_000, .max, .min] {
      #expect(created(time) == Self.now)
    }
  }
}
