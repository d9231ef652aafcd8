// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Times that anybody may have written.
@Suite struct OutsideTimeTests {
  private static let now: Int64 = 1_795_224_000_000

  @Test func `a record's time that is missing or in seconds makes nothing as old as 1970`() {
    for time in [.min, -1, 0, Self.now / 1_000] as [Int64] {
      #expect(OutsideTime.known(recordTime: time) == -1)
    }
    #expect(OutsideTime.known(recordTime: Self.now) == Self.now)
  }

  @Test func `a request is as old as its record, and never from the future`() {
    func created(_ time: Int64) -> Int64 { OutsideTime.received(recordTime: time, now: Self.now) }
    #expect(created(OutsideTime.firstRecordTime) == OutsideTime.firstRecordTime)
    #expect(created(Self.now) == Self.now)
    // No time, seconds, a clock that is ahead, microseconds, nanoseconds.
    for time in [
      -1, 0, 1, Self.now / 1_000, Self.now + 1, Self.now * 1_000, Self.now * 1_000_000, .max, .min,
    ] {
      #expect(created(time) == Self.now)
    }
  }

  @Test func `a record's time in seconds is known as one of another unit, and none is no mistake`()
  {
    for time in [1, Self.now / 1_000, OutsideTime.firstRecordTime - 1] {
      #expect(OutsideTime.isOfOtherUnit(recordTime: time), "\(time)")
    }
    for time in [-1, 0, OutsideTime.firstRecordTime, Self.now, Self.now * 1_000] {
      #expect(!OutsideTime.isOfOtherUnit(recordTime: time), "\(time)")
    }
    #expect(
      "\(RequestError(nil, .recordTime(Self.now / 1_000)))"
        == "request: was produced with the time 1795224000, which is not in milliseconds since 1970 (seconds?);"
        + " let the Kafka client set it, then replay")
  }

  @Test func `a number is a time between 1970 and 9999, unless it looks like seconds`() {
    for time in [0, 1, 999_999_999, 100_000_000_000, Self.now, OutsideTime.last] {
      #expect(OutsideTime.problem(time) == nil, "\(time)")
    }
    for time in [.min, -1, OutsideTime.last + 1, .max] as [Int64] {
      #expect(OutsideTime.problem(time)?.contains("is not a time in milliseconds") == true)
    }
    for time in [1_000_000_000, 1_795_224_000, 99_999_999_999] as [Int64] {
      #expect(OutsideTime.problem(time)?.contains("is in seconds") == true)
    }
  }

  @Test func `no time lies after the moment at which it was heard of, but for the clocks`() {
    let most = Self.now + OutsideTime.skew
    #expect(OutsideTime.bounded(0, received: Self.now) == 0)
    #expect(OutsideTime.bounded(most, received: Self.now) == most)
    #expect(OutsideTime.bounded(most + 1, received: Self.now) == most)
    #expect(OutsideTime.bounded(OutsideTime.last, received: Self.now) == most)
  }
}
