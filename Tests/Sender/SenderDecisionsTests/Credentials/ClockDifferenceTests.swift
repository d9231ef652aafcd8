// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import SignerDecisions

@Suite struct ClockDifferenceTests {
  @Test func `a clock that was put right is not off for ever`() {
    var difference = ClockDifference()
    #expect(difference.seconds(now: 0) == 0)
    difference.note(300, now: 1_000)
    difference.note(120, now: 2_000)
    #expect(difference.seconds(now: 2_000) == 120)
    #expect(difference.seconds(now: 2_000 + ClockDifference.memory - 1) == 120)
    #expect(difference.seconds(now: 2_000 + ClockDifference.memory) == 0)
  }
}
