// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@Suite struct RetryAfterTests {
  private static let time: Int64 = 784_111_777
  private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"

  private func wait(_ text: String, at now: Int64 = 0) -> UInt32 {
    RetryAfter(text.utf8.span).wait(now: now)
  }

  @Test func `seconds, and more digits than a number has are a long time`() {
    #expect(wait("0") == 0 && wait("30") == 30 && wait("0030") == 30)
    #expect(wait("999999999") == RetryAfter.longest)
    for text in [
      "1000000000", "4294967296", "18446744073709551616", String(repeating: "9", count: 99),
    ] {
      #expect(wait(text) == RetryAfter.longest, "\(text)")
    }
    #expect(wait("0000000000000000000000007") == 7)
  }

  @Test func `a date is that long from now, and none once it is over`() {
    #expect(wait(Self.date, at: Self.time - 120) == 120)
    #expect(wait(Self.date, at: Self.time) == 0)
    #expect(wait(Self.date, at: Self.time + 1) == 0)
    #expect(wait(Self.date, at: 0) == 784_111_777)
    #expect(wait(Self.date, at: .min) == RetryAfter.longest)
    #expect(wait("Fri, 31 Dec 9999 23:59:59 GMT", at: Self.time) == RetryAfter.longest)
  }

  @Test func `the two forms of dates that nobody sends any more are read`() {
    for text in [
      "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun Nov 06 08:49:37 1994",
    ] {
      #expect(wait(text, at: Self.time - 120) == 120, "\(text)")
    }
    #expect(wait("Wednesday, 25-Nov-26 21:00:00 GMT", at: 1_795_640_400 - 7) == 7)
    #expect(wait("Wed Nov 25 21:00:00 2026", at: 1_795_640_400 - 7) == 7)
  }

  @Test func `any other value is as if it were not there`() {
    for text in [
      "", "-1", "+5", "1.5", "5 ", " 5", "soon", "5s", "0x10",
      "Sunday, 06-Nov-94 08:49:37", "Sun Nov 6 08:49:37 1994", String(repeating: " ", count: 99),
    ] {
      #expect(wait(text) == 0, "\(text)")
      #expect(!RetryAfter(text.utf8.span).isGiven)
    }
  }
}
