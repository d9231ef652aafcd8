// SPDX-License-Identifier: Apache-2.0
import Pipeline
import Testing

/// Times of requests that anybody may have written.
@Suite struct RequestTimeTests {
  private static let now: Int64 = 1_795_224_000_000

  @Test func `a request is as old as its record, and never from the future`() {
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
