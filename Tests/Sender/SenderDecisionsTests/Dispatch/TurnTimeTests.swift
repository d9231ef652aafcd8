// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import SenderDecisions

@Suite struct TurnTimeTests {
  /// What worked before must not be newer than what fails now.
  @Test func `what was sent before the clock was set back was sent now at the latest`() {
    var turn = Turn(now: 10_000, wall: 5_000_000, seed: 1)
    #expect(turn.monotonic(of: 4_999_600) == 9_600)
    #expect(turn.monotonic(of: 5_000_000) == 10_000)
    // An hour back, a tenth of a second later.
    turn.begin(now: 10_100, wall: 1_400_100)
    #expect(turn.monotonic(of: 4_999_600) == 10_100)
    #expect(turn.monotonic(of: 1_400_000) == 10_000)
    #expect(turn.monotonic(of: 0) == 0, "no time is before the beginning")
    var watch = OutageWatch()
    watch.succeeded(sentAt: turn.monotonic(of: 4_999_600))
    turn.begin(now: 10_200, wall: 1_400_200)
    #expect(!watch.works(since: turn.now))
  }
}
